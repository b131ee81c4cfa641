import test from 'ava'
import {startTestDeployment} from '../support/test-deployment.ts'

let here: Awaited<ReturnType<typeof startTestDeployment>>
test.before(async t => {
  here = await startTestDeployment(t, {environment: {RATE_PER_ADDRESS: '40', RATE_PER_BEARER: '10', TRUSTED_PROXIES: '1'}})
})

const from = (address: string) => ({'x-forwarded-for': address})

test('a bearer over its rate limit gets Retry-After; another bearer is not affected', async t => {
  const one = here.as((await here.makeOrg()).token)
  const other = here.as((await here.makeOrg()).token)
  for (let n = 0; n < 10; n++) t.is((await one('GET', '/auth/me', undefined, from('10.0.0.1'))).status, 200)
  const refused = await one('GET', '/auth/me', undefined, from('10.0.0.2'))
  t.like(refused, {status: 429, body: {code: 'RATE_LIMITED'}})
  const seconds = Number(refused.headers.get('retry-after'))
  t.true(seconds >= 1 && seconds <= 60)
  t.is((await other('GET', '/auth/me', undefined, from('10.0.0.1'))).status, 200)
})

test('an address over its rate limit is refused before authentication; health checks are not counted', async t => {
  const call = here.as('nobody')
  for (let n = 0; n < 40; n++) t.is((await call('GET', '/auth/me', undefined, from('10.0.1.1'))).body.code, 'AUTH_REQUIRED')
  t.is((await call('GET', '/auth/me', undefined, from('10.0.1.1'))).body.code, 'RATE_LIMITED')
  t.is((await call('GET', '/health', undefined, from('10.0.1.1'))).status, 200)
  t.is((await call('GET', '/auth/me', undefined, from('10.0.1.2'))).body.code, 'AUTH_REQUIRED')
})

test('addresses claimed in front of the trusted proxy are ignored', async t => {
  const call = here.as('nobody')
  for (let n = 0; n < 40; n++) await call('GET', '/auth/me', undefined, from(`1.2.3.${n}, 10.0.2.1`))
  t.is((await call('GET', '/auth/me', undefined, from('9.9.9.9, 10.0.2.1'))).body.code, 'RATE_LIMITED')
})

test('sign-ins have a much lower rate limit per address than other requests', async t => {
  const limited = await startTestDeployment(t, {environment: {RATE_PER_ADDRESS: '3000', TRUSTED_PROXIES: '1'}})
  const start = (address: string) => limited.as(null)('GET', '/auth/zoho/start?dc=local', undefined, from(address))
  for (let n = 0; n < 3; n++) t.is((await start('10.0.3.1')).status, 302)
  const refused = await start('10.0.3.1')
  t.like(refused, {status: 429, body: {code: 'RATE_LIMITED'}})
  t.truthy(refused.headers.get('retry-after'))
  t.is((await start('10.0.3.2')).status, 302)
  t.is((await limited.as(null)('GET', '/robots.txt', undefined, from('10.0.3.1'))).status, 200)
})
