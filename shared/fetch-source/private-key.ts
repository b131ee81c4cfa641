/** Opening a key takes 15 ms a round and holds everything else up; `ssh-keygen` takes 16 where nothing is said. */
export const mostRounds = 100

/**
 * How often a passphrase is stirred before it opens an OpenSSH key; 0 for keys of other kinds and those without one. Source: PROTOCOL.key of
 * OpenSSH.
 */
export const roundsOf = (privateKey: string): number => {
  const [, body = ''] = /-----BEGIN OPENSSH PRIVATE KEY-----([^-]*)-----END/.exec(privateKey) ?? []
  const bytes = Buffer.from(body, 'base64')
  const endOf = (at: number) => (at + 4 <= bytes.length ? at + 4 + bytes.readUInt32BE(at) : bytes.length)
  const cipherAt = 'openssh-key-v1\0'.length
  const optionsAt = endOf(endOf(cipherAt))
  const roundsAt = endOf(optionsAt + 4)
  return roundsAt + 4 <= Math.min(endOf(optionsAt), bytes.length) ? bytes.readUInt32BE(roundsAt) : 0
}
