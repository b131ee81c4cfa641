import test from 'ava'
import type {Route} from '../../api/route.ts'
import {routes} from '../../api/routes.ts'
import {fillOrg, type Ids, parametersOf} from '../support/filled-org.ts'
import {openOrg} from '../support/importing.ts'
import {startTestDeployment} from '../support/test-deployment.ts'

const lists = routes.filter(({refusals}) => refusals.includes('INVALID_CURSOR'))

const addressOf = (route: Route, ids: Ids, cursor: string) => {
  const path = parametersOf(route)
    .reduce<string>((done, {collection, name}) => done.replace(`:${name}`, ids[collection]!), route.path)
    .replace(':org', ids.org!)
  return `${path}?cursor=${cursor}`
}

test('a cursor that holds a NUL or is not UTF-8 is INVALID_CURSOR on every list', async t => {
  const house = await startTestDeployment(t, {workers: ['imports', 'discovery', 'writes']})
  const org = await openOrg(house, 'ana@example.org')
  const ids = await fillOrg(house, org, 'ana@example.org')
  const staff = house.as(house.adminToken)
  t.true(lists.length > 15)
  for (const route of lists)
    for (const cursor of ['%00', 'x%00.y', '%ff', 'nonsense']) {
      const address = addressOf(route, ids, cursor)
      const {status, body} = await ('role' in route.access ? org.call : staff)('GET', address)
      t.like({status, code: body.code}, {status: 400, code: 'INVALID_CURSOR'}, address)
    }
})
