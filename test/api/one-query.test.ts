import {createServer} from 'node:http'
import type {AddressInfo} from 'node:net'
import test from 'ava'
import {createApp} from '../../api/app.ts'
import {route} from '../../api/route.ts'
import type {Hot, Pool} from '../../sql/database.ts'
import {openCalls} from '../support/client.ts'
import {startTestDeployment, type TestDeployment} from '../support/test-deployment.ts'

let house: TestDeployment
test.before(async t => {
  house = await startTestDeployment(t)
})

test('authentication and gates cost one prepared query for every kind of bearer', async t => {
  const home = await house.makeOrg()
  const minted = await house.as(home.token)('POST', `/orgs/${home.org}/tokens`, {name: 'one'})
  const view = await house.openView({org: home.org})
  t.is((await house.as(minted.body.secret)('GET', '/auth/me')).status, 200, 'its first use is noted')

  const asked: string[] = []
  const hot = new Proxy(house.hot, {
    get: (pool, name) =>
      name === 'query'
        ? (query: {name?: string; text: string}) => asked.push(query.name ?? query.text) && pool.query(query as never)
        : Reflect.get(pool, name),
  }) as Hot
  const db = new Proxy({} as Pool, {
    get: (_, name) => {
      throw new Error(`The gates asked the other pool for ${String(name)}`)
    },
  })
  const said = {operationId: 'doNothing', tag: 'Service', summary: 'Do nothing', answers: {}, refusals: []} as const
  const routes = [route({...said, method: 'get', path: '/orgs/:org/nothing', access: {role: 'operator'}, handle: () => ({})})]
  const server = createServer(createApp({...house.tools, hot, db}, {routes}).callback())
  await new Promise<void>(listening => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => server.close())
  const as = openCalls(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)

  for (const bearer of [home.token, minted.body.secret, view]) {
    t.is((await as(bearer)('GET', `/orgs/${home.org}/nothing`)).status, 200)
  }
  t.deepEqual(asked, ['session-caller', 'token-caller', 'session-caller'])
})
