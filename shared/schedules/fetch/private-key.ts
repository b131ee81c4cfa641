/**
 * Maximum number of key derivation rounds of a private key. Each round blocks the process for 15 ms. The default of `ssh-keygen` is 16 rounds.
 */
export const mostRounds = 100

/** Returns the key derivation rounds of an OpenSSH key; 0 for other keys and for keys without a passphrase. Source: PROTOCOL.key of OpenSSH. */
export const roundsOf = (privateKey: string): number => {
  const [, body = ''] = /-----BEGIN OPENSSH PRIVATE KEY-----([^-]*)-----END/.exec(privateKey) ?? []
  const bytes = Buffer.from(body, 'base64')
  const endOf = (at: number) => (at + 4 <= bytes.length ? at + 4 + bytes.readUInt32BE(at) : bytes.length)
  const cipherAt = 'openssh-key-v1\0'.length
  const optionsAt = endOf(endOf(cipherAt))
  const roundsAt = endOf(optionsAt + 4)
  return roundsAt + 4 <= Math.min(endOf(optionsAt), bytes.length) ? bytes.readUInt32BE(roundsAt) : 0
}
