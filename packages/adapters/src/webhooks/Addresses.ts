/** Says which addresses are those of the public internet. All others belong to the machine, to its network or to nobody. */
import { BlockList, isIP } from "node:net"

const notPublic = new BlockList()
for (const [net, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4]
] as const)
  notPublic.addSubnet(net, prefix, "ipv4")

/** The public range of IPv6, and ranges inside it that are not public: for documentation, and for tunnels to addresses of IPv4. */
const publicIpv6 = new BlockList()
publicIpv6.addSubnet("2000::", 3, "ipv6")
const exceptions = new BlockList()
exceptions.addSubnet("2001::", 23, "ipv6")
exceptions.addSubnet("2001:db8::", 32, "ipv6")
exceptions.addSubnet("2002::", 16, "ipv6")
exceptions.addSubnet("3fff::", 20, "ipv6")

export const isPublicAddress = (address: string): boolean => {
  const version = isIP(address)
  if (version === 4) return !notPublic.check(address, "ipv4")
  return version === 6 && publicIpv6.check(address, "ipv6") && !exceptions.check(address, "ipv6")
}

/** The address in a URL. Null: the URL contains a name. */
export const literalAddress = ({ hostname }: URL): string | null => {
  const plain = hostname.startsWith("[") ? hostname.slice(1, -1) : hostname
  return isIP(plain) === 0 ? null : plain
}
