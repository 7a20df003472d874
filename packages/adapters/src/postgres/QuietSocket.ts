/**
 * Connections that do not keep the process alive, for hosts that keep it alive by themselves while something is under way. The client of
 * `@effect/sql-pg` takes such a connection as its `stream`; address, TLS and everything else stay those of the configuration.
 */
import type { Config } from "@effect/sql-pg/PgConnection"
import * as Redacted from "effect/Redacted"
import { connect } from "node:net"

/** The client reports what is wrong with an address that cannot be read here. */
export const quietSockets = ({ host, path, port, url }: Config): Pick<Config, "stream"> => {
  const address = readAddress(url === undefined ? "" : Redacted.value(url))
  const server = host ?? address.host
  const number = port ?? address.port
  const socketPath = path ?? (server.startsWith("/") ? `${server}/.s.PGSQL.${number}` : undefined)
  return {
    stream: () => {
      const socket =
        socketPath === undefined
          ? connect({ host: server, port: number, noDelay: true, keepAlive: true, keepAliveInitialDelay: 15_000 })
          : connect({ path: socketPath })
      return socket.unref()
    }
  }
}

const readAddress = (text: string) => {
  const url = URL.parse(text)
  const host = url?.searchParams.get("host") ?? decodeURIComponent(url?.hostname ?? "")
  const port = url?.searchParams.get("port") ?? url?.port ?? ""
  return {
    host: host === "" ? "localhost" : host.replaceAll(/^\[|\]$/gu, ""),
    port: port === "" ? 5432 : Number(port)
  }
}
