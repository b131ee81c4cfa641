import {randomBytes} from 'node:crypto'
import test from 'ava'
import fc from 'fast-check'
import {isOutdated, type KeyRing, open, seal} from '../../../shared/security/secrets.ts'

const key = (id: string) => ({id, key: randomBytes(32)})
const [first, second] = [key('k1'), key('k2')]
const ring: KeyRing = [first]

test('any encrypted text can be decrypted', t => {
  fc.assert(
    fc.property(fc.string({unit: 'binary'}), fc.string(), (text, aad) => {
      t.is(open(ring, seal(ring, text, aad), aad), text)
    }),
  )
})

test('encrypting one secret twice differs, and names the first key', t => {
  const [one, other] = [seal(ring, 'grant', 'con_1'), seal(ring, 'grant', 'con_1')]
  t.not(one, other)
  t.regex(one, /^v1\.k1\.[\w-]{16}\.[\w-]+$/)
})

test('a secret moved to another row cannot be decrypted', t => {
  const sealed = seal(ring, 'grant', 'con_1')
  t.throws(() => open(ring, sealed, 'con_2'))
})

test('a secret with any changed byte cannot be decrypted', t => {
  const sealed = seal(ring, 'grant', 'con_1')
  const [version, id, iv, body] = sealed.split('.') as [string, string, string, string]
  for (const [at, part] of [iv, body].entries()) {
    const bytes = Buffer.from(part, 'base64url')
    for (let index = 0; index < bytes.length; index++) {
      const changed = Buffer.from(bytes)
      changed[index]! ^= 1
      const parts = [iv, body].with(at, changed.toString('base64url'))
      t.throws(() => open(ring, [version, id, ...parts].join('.'), 'con_1'))
    }
  }
})

test('a shortened authentication tag is refused', t => {
  const [version, id, iv, body] = seal(ring, 'grant', 'con_1').split('.') as [string, string, string, string]
  for (const kept of [0, 4, 15]) {
    const short = Buffer.from(body, 'base64url').subarray(0, kept).toString('base64url')
    t.throws(() => open(ring, [version, id, iv, short].join('.'), 'con_1'))
  }
})

test('a new first key encrypts from then on, and the old one still decrypts', t => {
  const old = seal([first], 'grant', 'con_1')
  const turned: KeyRing = [second, first]
  t.is(open(turned, old, 'con_1'), 'grant')
  t.true(isOutdated(turned, old))
  t.false(isOutdated(turned, seal(turned, 'grant', 'con_1')))
})

test('a key missing from the ring is named in the error', t => {
  const old = seal([first], 'grant', 'con_1')
  t.throws(() => open([second], old, 'con_1'), {message: /k1 is not in SECRETS_KEYS/})
})

test('a value that an earlier build sealed under an id with a dot opens under the id with a hyphen, and is to be resealed', t => {
  const {key: bytes} = key('')
  const sealed = seal([{id: '2026.11', key: bytes}], 'grant', 'con_1')
  const renamed = [{id: '2026-11', key: bytes}]
  t.is(open(renamed, sealed, 'con_1'), 'grant')
  t.true(isOutdated(renamed, sealed))
})

test('text that was never encrypted is refused', t => {
  for (const text of ['', 'plain', 'v1.k1.', 'v2.k1.aaaa.bbbb', 'v1.k1..']) t.throws(() => open(ring, text, 'con_1'))
})
