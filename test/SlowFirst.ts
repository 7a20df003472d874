/**
 * The order of test files. Vitest knows how long each of them takes from an earlier run; on a fresh clone it takes the larger ones first. These
 * few are small and slow: the last of them would keep one worker busy while the others have nothing left to do.
 */
import { BaseSequencer, type TestSpecification } from "vitest/node"

const slow = [
  "test/comparison.integration.test.ts",
  "examples/embed/next.integration.test.ts",
  "packages/adapters/test/postgres/Bouncer.integration.test.ts",
  "packages/server/test/videoprocesses.integration.test.ts",
  "packages/server/test/voiceprocesses.integration.test.ts"
]

const isSlow = ({ moduleId }: TestSpecification): boolean => slow.some((file) => moduleId.endsWith(`/${file}`))

export default class SlowFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const sorted = await super.sort(files)
    return [...sorted.filter(isSlow), ...sorted.filter((file) => !isSlow(file))]
  }
}
