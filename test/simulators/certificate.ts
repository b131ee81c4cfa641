import {generateKeyPairSync, sign} from 'node:crypto'

/** Creates a self-signed certificate for the names and addresses, valid from one hour ago to one day ahead. Source: RFC 5280, X.690. */
export const makeCertificate = (names: string[]) => {
  const {publicKey, privateKey} = generateKeyPairSync('ec', {namedCurve: 'P-256'})
  const algorithm = sequence(identifier([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]))
  const name = sequence(der(0x31, sequence(identifier([0x55, 0x04, 0x03]), der(0x0c, Buffer.from('Stand-in')))))
  const alternatives = sequence(...names.map(alternative))
  const extensions = der(0xa3, sequence(sequence(identifier([0x55, 0x1d, 0x11]), der(0x04, alternatives))))
  const [from, until] = [-3_600_000, 86_400_000].map(ms => der(0x17, Buffer.from(utc(new Date(Date.now() + ms)))))
  const content = sequence(
    der(0xa0, number(2)),
    number(Math.floor(Math.random() * 2 ** 30) + 1),
    algorithm,
    name,
    sequence(from!, until!),
    name,
    publicKey.export({type: 'spki', format: 'der'}),
    extensions,
  )
  const signature = sign('sha256', content, privateKey)
  const whole = sequence(content, algorithm, der(0x03, Buffer.from([0]), signature))
  const cert = `-----BEGIN CERTIFICATE-----\n${whole.toString('base64').replaceAll(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`
  return {cert, key: privateKey.export({type: 'pkcs8', format: 'pem'}) as string}
}

const der = (tag: number, ...contents: Buffer[]): Buffer => {
  const content = Buffer.concat(contents)
  const {length} = content
  const head = length < 128 ? [tag, length] : length < 256 ? [tag, 0x81, length] : [tag, 0x82, length >> 8, length & 255]
  return Buffer.concat([Buffer.from(head), content])
}
const sequence = (...parts: Buffer[]) => der(0x30, ...parts)
const identifier = (bytes: number[]) => der(0x06, Buffer.from(bytes))
const number = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  const short = bytes.subarray(bytes.findIndex((byte, at) => byte > 0 || at === 3))
  return der(0x02, short[0]! > 127 ? Buffer.concat([Buffer.from([0]), short]) : short)
}
const alternative = (name: string) =>
  /^\d+(\.\d+){3}$/.test(name) ? der(0x87, Buffer.from(name.split('.').map(Number))) : der(0x82, Buffer.from(name))
const utc = (date: Date) => `${date.toISOString().slice(2, 19).replaceAll(/[-:T]/g, '')}Z`
