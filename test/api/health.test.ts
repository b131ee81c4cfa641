import {once} from 'node:events'
import test from 'ava'
import {routes} from '../../api/routes.ts'
import {sql} from '../../sql/database.ts'
import {openCalls} from '../support/client.ts'
import {openCutOff} from '../support/cut-off.ts'
import {openHalfRequest, readAnswer} from '../support/half-request.ts'
import {startTestDeployment} from '../support/test-deployment.ts'
import {until} from '../support/until.ts'

test('health reports the database, the queue and, on request, the migrations', async t => {
  const house = await startTestDeployment(t)
  const ask = house.as(null)
  t.deepEqual((await ask('GET', '/health')).body, {status: 'ok', database: 'ok', queue: 'ok'})
  const deep = await ask('GET', '/health?deep=1')
  t.like(deep.body, {status: 'ok', migrations: {pending: []}})
  t.true(deep.body.migrations.applied > 0)
  await house.db.query(sql.unsafe`delete from migrations where name = '0001_people'`)
  const behind = await ask('GET', '/health?deep=1')
  t.is(behind.status, 503)
  t.like(behind.body, {code: 'UNAVAILABLE', migrations: {pending: ['0001_people']}})
  t.is((await ask('GET', '/health?deep=yes&deep=1')).status, 200, 'a probe is never told of its junk')
})

test('robots.txt disallows all paths', async t => {
  const {as} = await startTestDeployment(t)
  const {status, text, headers} = await as(null)('GET', '/robots.txt')
  t.is(status, 200)
  t.is(text, 'User-agent: *\nDisallow: /\n')
  t.regex(headers.get('content-type')!, /^text\/plain/)
})

test('without the database every request is a 503 with Retry-After, and works again afterwards', async t => {
  const {api, proxy} = await openCutOff(t)
  const ask = openCalls(api.url)(null)
  const start = '/auth/zoho/start'
  t.is((await ask('GET', start)).status, 302)
  proxy.cut()
  for (let n = 0; n < 3; n++) {
    const {status, body, headers} = await ask('GET', start)
    t.like({status, code: body.code}, {status: 503, code: 'UNAVAILABLE'}, JSON.stringify(body))
    t.is(headers.get('retry-after'), '5')
  }
  const unknown = `Bearer lading_${'0'.repeat(43)}000000`
  t.true([401, 503].includes((await ask('GET', '/auth/me', undefined, {authorization: unknown})).status))
  const sick = await ask('GET', '/health')
  t.is(sick.status, 503)
  t.like(sick.body, {code: 'UNAVAILABLE', database: 'down', queue: 'down'})
  proxy.restore()
  await until(
    async () => (await ask('GET', '/health')).status,
    status => status === 200,
  )
  t.is((await ask('GET', start)).status, 302)
})

test('maintenance refuses all but health and robots.txt before reading anything', async t => {
  const house = await startTestDeployment(t, {environment: {MAINTENANCE: '1', RETURN_ORIGINS: 'https://widget.example.org'}})
  const closed = routes.filter(({path}) => path !== '/health' && path !== '/robots.txt')
  for (const {method, path} of closed) {
    const {status, body, headers} = await house.as('garbage')(method.toUpperCase(), path.replaceAll(/:\w+/g, 'x'))
    t.deepEqual({status, body: Object.keys(body), code: body.code}, {status: 503, body: ['error', 'code'], code: 'MAINTENANCE'}, path)
    t.is(headers.get('retry-after'), '300')
  }
  t.is((await house.as(null)('GET', '/unknown')).body.code, 'MAINTENANCE')
  t.is((await house.as(null)('GET', '/%zz')).body.code, 'MAINTENANCE')
  t.is((await house.as(null)('GET', '/health')).status, 200)
  t.is((await house.as(null)('GET', '/robots.txt')).status, 200)
  const origin = 'https://widget.example.org'
  t.is((await house.as(null)('GET', '/auth/me', undefined, {origin})).headers.get('access-control-allow-origin'), origin)
  const half = openHalfRequest(house.url)
  half.send('POST /auth/orgs/x/connect HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 1000\r\n\r\n')
  const [first] = (await once(half.socket, 'data')) as [string]
  t.is(readAnswer(first).status, 503, 'answered without waiting for the body')
  half.socket.destroy()
})
