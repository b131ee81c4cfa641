import test from 'ava'
import type {Connection} from '../../../shared/crm/crm.ts'
import {sql} from '../../../sql/database.ts'
import {place} from './crm-fixture.ts'

const write = async (connection: Connection) => (await connection.createRecords('Leads', [{Last_Name: 'Ono'}], {})).results[0]!
const refusalOf = async (connection: Connection) => {
  const result = await write(connection)
  if (result.ok || result.sent) throw new Error(`Not refused before sending: ${JSON.stringify(result)}`)
  return result.refusal
}

test('row 10: a dead token is not sent again while renewals are throttled, but one renewed elsewhere is used', async t => {
  const here = await place(t)
  const id = await here.connect()
  const connection = await here.crm.open(id)
  const calls = () => here.standIn.journal().filter(({path}) => path.startsWith('/crm/')).length
  const renewals = () => here.standIn.journal().filter(({path}) => path === '/oauth/v2/token').length
  for (const isRenewedElsewhere of [true, false]) {
    here.standIn.clear()
    here.standIn.faults.add({match: {path: '/crm/**'}, action: 'expireToken'})
    here.standIn.faults.add({action: 'tokenThrottle'})
    t.like(await write(connection), {ok: false, sent: true, crm: {code: 'INVALID_TOKEN', rateLimited: true}})
    t.like(await refusalOf(connection), {code: 'CONNECTION_THROTTLED', extra: {written: false}})
    const {retryAfterMs} = (await refusalOf(connection)).extra
    t.true(Number(retryAfterMs) >= 590_000 && Number(retryAfterMs) <= 600_000)
    t.is(calls(), 1)
    t.is(renewals(), 1)
    if (!isRenewedElsewhere) continue
    await here.db.query(sql.unsafe`update grants set access_expires_at = lading_now() where connector_id = ${id}`)
    t.true((await write(await (await here.openAnother()).open(id))).ok)
    t.true((await write(connection)).ok)
    t.is(renewals(), 2)
  }
})
