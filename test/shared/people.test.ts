import {randomBytes} from 'node:crypto'
import test from 'ava'
import {SignJWT} from 'jose'
import {normaliseAddress} from '../../shared/accounts/address.ts'
import {findReturnOrigin, listOrigins} from '../../shared/accounts/origins.ts'
import {isAtLeast, lowerOf, ROLES} from '../../shared/accounts/roles.ts'
import {readSignedId, signId} from '../../shared/accounts/signed.ts'
import {hashSecret, isWellFormed, looksLikeSecret, mintSecret} from '../../shared/accounts/token-secret.ts'
import {readConfig} from '../../shared/config.ts'
import {findAccounts, findHosts, isApiDomain, listHosts} from '../../shared/crm/hosts.ts'

const expiresAt = new Date(Date.now() + 3_600_000).toISOString()
const ring = [{id: 'k1', key: randomBytes(32)}]

test('a role includes all lower roles', t => {
  for (const [at, role] of ROLES.entries()) {
    for (const [rank, needed] of ROLES.entries()) {
      t.is(isAtLeast(role, needed), at >= rank, `${role} for ${needed}`)
      t.is(lowerOf(role, needed), ROLES[Math.min(at, rank)]!)
    }
  }
})

test('addresses are compared trimmed and without the case of ASCII letters only', t => {
  t.is(normaliseAddress(' Ana.Ruiz@Example.ORG\n'), 'ana.ruiz@example.org')
  t.is(normaliseAddress('ÅSA@example.org'), 'Åsa@example.org')
  for (const lookalike of ['\u212a', '\u0130', '\u017f', '\u212b']) t.is(normaliseAddress(lookalike), lookalike)
  t.is(normaliseAddress(normaliseAddress('Mi\u212aE@x.org')), normaliseAddress('Mi\u212aE@x.org'))
})

test('a token secret has our prefix, 256 random bits and a checksum', t => {
  const {secret, hash, prefix} = mintSecret()
  t.regex(secret, /^lading_[0-9A-Za-z]{49}$/)
  t.true(secret.startsWith(prefix) && prefix.length < 12)
  t.deepEqual(hashSecret(secret), hash)
  t.true(isWellFormed(secret) && looksLikeSecret(secret))
  t.not(mintSecret().secret, secret)
})

test('a single typing error in a secret is found without the database', t => {
  const {secret} = mintSecret()
  for (let at = 0; at < secret.length; at++) {
    const wrong = secret[at] === 'x' ? 'y' : 'x'
    t.false(isWellFormed(secret.slice(0, at) + wrong + secret.slice(at + 1)), `at ${at}`)
  }
  t.false(isWellFormed(secret.slice(0, -1)))
})

test('a signed id can be read only as the kind it was signed as', async t => {
  const text = await signId(ring, 'session', {id: 'ses_1', expiresAt})
  t.is(await readSignedId(ring, 'session', text), 'ses_1')
  t.is(await readSignedId(ring, 'consent', text), null)
})

test('rotating the signing key ends no session', async t => {
  const text = await signId(ring, 'session', {id: 'ses_1', expiresAt})
  const next = {id: 'k2', key: randomBytes(32)}
  t.is(await readSignedId([next, ...ring], 'session', text), 'ses_1')
  t.is(await readSignedId([next], 'session', text), null)
  t.is(await readSignedId([{...next, id: 'k1'}], 'session', text), null)
})

test('a signed id with another algorithm, type, issuer or audience is refused', async t => {
  const {key} = ring[0]!
  const good = {alg: 'HS256', typ: 'lading-session+jwt', kid: 'k1'}
  const sign = (header: object, {iss = 'lading', aud = 'session'} = {}) =>
    new SignJWT()
      .setProtectedHeader(header as typeof good)
      .setIssuer(iss)
      .setAudience(aud)
      .setSubject('ses_1')
      .setExpirationTime('1h')
      .sign(key)
  t.is(await readSignedId(ring, 'session', await sign(good)), 'ses_1')
  for (const header of [
    {...good, alg: 'HS384'},
    {...good, typ: 'JWT'},
    {alg: 'HS256', kid: 'k1'},
    {...good, kid: 'k9'},
  ]) {
    t.is(await readSignedId(ring, 'session', await sign(header).catch(() => 'none')), null, JSON.stringify(header))
  }
  t.is(await readSignedId(ring, 'session', await sign(good, {iss: 'someone'})), null)
  t.is(await readSignedId(ring, 'session', await sign(good, {aud: 'sign-in'})), null)
  const [, payload] = (await sign(good)).split('.')
  const unsigned = `${Buffer.from(JSON.stringify({...good, alg: 'none'})).toString('base64url')}.${payload}.`
  t.is(await readSignedId(ring, 'session', unsigned), null)
})

test('an expired signed id is refused', async t => {
  const text = await signId(ring, 'session', {id: 'ses_1', expiresAt: new Date(Date.now() - 120_000).toISOString()})
  t.is(await readSignedId(ring, 'session', text), null)
})

const pages = {
  PUBLIC_URL: 'https://lading.example.org/app',
  RETURN_ORIGINS: ['https://Widget.Example.org:443/', 'http://localhost:3000', 'nonsense'],
}

test('a return address is allowed by its exact origin', t => {
  t.deepEqual(listOrigins(pages), ['https://lading.example.org', 'https://widget.example.org', 'http://localhost:3000'])
  t.is(findReturnOrigin(pages, 'https://widget.example.org/any/page?x=1'), 'https://widget.example.org')
  t.is(findReturnOrigin(pages, undefined), 'https://lading.example.org')
})

test('a process does not start with an entry of RETURN_ORIGINS that is no origin', t => {
  t.deepEqual(readConfig({RETURN_ORIGINS: 'https://App.Example.com/, http://localhost:3000'}).RETURN_ORIGINS, [
    'https://app.example.com',
    'http://localhost:3000',
  ])
  for (const entry of ['app.example.com', '*', 'https://*', 'https://user:pw@app.example.com'])
    t.throws(() => readConfig({RETURN_ORIGINS: entry}), {message: /RETURN_ORIGINS: .*: each is an origin/}, entry)
})

test('an address that only resembles an allowed origin is refused', t => {
  const hostile = [
    'https://widget.example.org.evil.org',
    'https://widget.example.org@evil.org',
    'https://evil.org/https://widget.example.org',
    'http://widget.example.org',
    'https://widget.example.org:444',
    'https://sub.widget.example.org',
    'javascript:alert(1)//https://widget.example.org',
    'data:text/html,x',
    '//widget.example.org',
    'null',
    '*',
    '',
  ]
  for (const given of hostile) t.is(findReturnOrigin(pages, given), null, given)
})

test('every data centre has its own hosts, and the stand-in exists only if configured', t => {
  t.is(findHosts({CRM_STANDIN_URL: undefined, CRM_HOSTS: []}, 'local'), undefined)
  t.is(findHosts({CRM_STANDIN_URL: 'http://127.0.0.1:4010/', CRM_HOSTS: []}, 'local')?.accounts, 'http://127.0.0.1:4010')
  const hosts = listHosts({CRM_STANDIN_URL: undefined, CRM_HOSTS: []})
  t.is(new Set(hosts.flatMap(({dc, accounts, apiDomain}) => [dc, accounts, apiDomain])).size, hosts.length * 3)
})

test('only listed hosts are sign-in hosts, and only hosts of the data centre are its API', t => {
  const place = {CRM_STANDIN_URL: undefined, CRM_HOSTS: []}
  t.is(findAccounts(place, 'https://accounts.zoho.eu')?.dc, 'eu')
  for (const given of ['https://accounts.zoho.eu.evil.org', 'http://accounts.zoho.eu', 'https://accounts.zoho.eu@evil.org', '']) {
    t.is(findAccounts(place, given), undefined, given)
  }
  const eu = findHosts(place, 'eu')!
  t.true(isApiDomain(eu, 'https://www.zohoapis.eu') && isApiDomain(eu, 'https://sandbox.zohoapis.eu'))
  t.false(
    isApiDomain(eu, 'https://www.zohoapis.com') ||
      isApiDomain(eu, 'https://evil.zohoapis.eu') ||
      isApiDomain(eu, 'https://www.zohoapis.eu.evil.org'),
  )
})
