import {createHmac, generateKeyPairSync} from 'node:crypto'
import test from 'ava'
import {SignJWT} from 'jose'
import {signId} from '../../shared/accounts/signed.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
let good: {token: string; header: any; claims: any}

test.before(async t => {
  here = await startTestDeployment(t)
  const {token} = await here.makeOrg()
  const [header, claims] = token
    .split('.')
    .slice(0, 2)
    .map(part => JSON.parse(Buffer.from(part, 'base64url').toString()))
  good = {token, header, claims}
})

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const hs256 = (header: object, claims: object, key: string | Buffer) => {
  const text = `${part(header)}.${part(claims)}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}
const text = (json: string) => Buffer.from(json).toString('base64url')
const signed = (header: string, claims: object, key: Buffer) => {
  const both = `${text(header)}.${part(claims)}`
  return `${both}.${createHmac('sha256', key).update(both).digest('base64url')}`
}
const ours = () => here.config.SESSION_KEYS[0]!.key
const {publicKey, privateKey} = generateKeyPairSync('rsa', {modulusLength: 2048})
const pem = publicKey.export({type: 'spki', format: 'pem'})

const forgeries: Record<string, () => string | Promise<string>> = {
  'no algorithm at all': () => `${part({...good.header, alg: 'none'})}.${part(good.claims)}.`,
  'no algorithm, and the good signature': () => `${part({...good.header, alg: 'none'})}.${part(good.claims)}.${good.token.split('.')[2]}`,
  'another algorithm under our key': () =>
    new SignJWT(good.claims).setProtectedHeader({...good.header, alg: 'HS512'}).sign(Buffer.concat([ours(), ours()])),
  'a public key used as the secret': () => hs256(good.header, good.claims, pem),
  'its own public key in the header': () =>
    new SignJWT(good.claims).setProtectedHeader({...good.header, alg: 'RS256', jwk: publicKey.export({format: 'jwk'})}).sign(privateKey),
  'an unknown key id': () => hs256({...good.header, kid: 'k9'}, good.claims, ours()),
  'a path as key id': () => hs256({...good.header, kid: '../../../dev/null'}, good.claims, ''),
  'an SQL statement as key id': () => hs256({...good.header, kid: "k1' union select 'x"}, good.claims, 'x'),
  'an object property as key id': () => hs256({...good.header, kid: '__proto__'}, good.claims, ''),
  'a list as key id': () => hs256({...good.header, kid: [good.header.kid]}, good.claims, ours()),
  'an address of its key': () =>
    new SignJWT(good.claims).setProtectedHeader({...good.header, alg: 'RS256', jku: here.url, x5u: here.url}).sign(privateKey),
  'a certificate of its own in the header': () =>
    new SignJWT(good.claims)
      .setProtectedHeader({...good.header, alg: 'RS256', x5c: [pem.toString().replaceAll(/-----.*-----|\n/g, '')]})
      .sign(privateKey),
  'the secret in its own header': () =>
    hs256({...good.header, jwk: {kty: 'oct', k: Buffer.from('x').toString('base64url')}}, good.claims, 'x'),
  'an algorithm in other letters': () => `${part({...good.header, alg: 'nOnE'})}.${part(good.claims)}.`,
  'two algorithms': () => signed(JSON.stringify(good.header).replace('{', '{"alg":"none",').replace('HS256', 'none'), good.claims, ours()),
  'two subjects under no key of ours': () =>
    `${good.token.split('.')[0]}.${text(JSON.stringify(good.claims).replace('{', '{"sub":"ses_x",'))}.${good.token.split('.')[2]}`,
  'a start in the future': () => hs256(good.header, {...good.claims, nbf: 4_000_000_000}, ours()),
  'an expiry that is no number': () => hs256(good.header, {...good.claims, exp: '4000000000'}, ours()),
  'a payload that is not encoded': () => hs256({...good.header, b64: false, crit: ['b64']}, good.claims, ours()),
  'its parts as JSON': () =>
    JSON.stringify({protected: good.token.split('.')[0], payload: good.token.split('.')[1], signature: good.token.split('.')[2]}),
  'five parts': () => `${good.token}..x`,
  'no signature': () => good.token.split('.').slice(0, 2).join('.'),
  'no key id': () => hs256({alg: 'HS256', typ: good.header.typ}, good.claims, ours()),
  'a header that names a critical extension': () => hs256({...good.header, crit: ['exp']}, good.claims, ours()),
  'another issuer': () => hs256(good.header, {...good.claims, iss: 'someone'}, ours()),
  'another audience': () => hs256(good.header, {...good.claims, aud: 'consent'}, ours()),
  'an expiry in the past': () => hs256(good.header, {...good.claims, exp: 1_000_000_000}, ours()),
  'no end': () => hs256(good.header, {...good.claims, exp: undefined}, ours()),
  'an unknown session': () => hs256(good.header, {...good.claims, sub: 'ses_00000000000000000000000000'}, ours()),
  'a signed consent in place of a session': () =>
    signId(here.config.SESSION_KEYS, 'consent', {id: good.claims.sub, expiresAt: new Date(Date.now() + 60_000).toISOString()}),
  'a changed claim under the old signature': () =>
    `${good.token.split('.')[0]}.${part({...good.claims, sub: 'ses_x'})}.${good.token.split('.')[2]}`,
}

for (const [what, forge] of Object.entries(forgeries)) {
  test(`a session token with ${what} is refused`, async t => {
    const {status, body} = await here.as(await forge())('GET', '/auth/me')
    t.like({status, ...body}, {status: 401, code: 'AUTH_REQUIRED'})
  })
}

test('the valid token is accepted before and after the forgeries', async t => {
  t.is((await here.as(good.token)('GET', '/auth/me')).status, 200)
})

test('a token of a megabyte is refused with an error envelope', async t => {
  const {status, body} = await here.as('x'.repeat(1024 ** 2))('GET', '/auth/me')
  t.is(status, 431)
  t.is(typeof body.error, 'string')
})
