import {setTimeout as wait} from 'node:timers/promises'
import test from 'ava'
import {until} from '../support/until.ts'
import {openCrm} from './crm-caller.ts'

const lead = {data: [{Last_Name: 'Ono'}]}
const account = {data: [{Account_Name: 'Acme', Account_Number: 'A-1'}]}

test('late: the connection is cut at once, and the request takes effect when it arrives', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({match: {method: 'POST'}, action: {type: 'late', ms: 1_500}})
  await t.throwsAsync(call('POST', 'Leads', lead))
  t.is(crm.count('example', 'Leads'), 0)
  t.is(crm.late(), 1)
  t.like(crm.journal().at(-1), {outcome: 'dropped', committed: false})
  await until(
    () => crm.late(),
    late => late === 0,
  )
  t.is(crm.count('example', 'Leads'), 1)
  t.like(crm.journal().at(-1), {outcome: 'late', committed: true, status: 201})
})

test('late: a silent connection ends when its client gives up', async t => {
  const {crm} = await openCrm(t)
  const {accessToken} = crm.grant({email: 'ana@example.org'})
  crm.faults.add({match: {method: 'POST'}, action: {type: 'late', ms: 500, end: 'silent'}})
  const patience = new AbortController()
  const sent = fetch(`${crm.url}/crm/v8/Leads`, {
    method: 'POST',
    body: JSON.stringify(lead),
    headers: {authorization: `Bearer ${accessToken}`},
    signal: patience.signal,
  })
  await until(
    () => crm.late(),
    late => late === 1,
  )
  t.is(crm.journal().length, 0)
  patience.abort()
  await t.throwsAsync(sent, {name: 'AbortError'})
  await until(
    () => crm.late(),
    late => late === 0,
  )
  t.is(crm.count('example', 'Leads'), 1)
})

test('late: a request that has not arrived before a clear never takes effect', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({match: {method: 'POST'}, action: {type: 'late', ms: 300}})
  await t.throwsAsync(call('POST', 'Leads', lead))
  crm.clear()
  t.is(crm.late(), 0)
  await wait(400)
  t.is(crm.count('example', 'Leads'), 0)
})

test('twice: the request takes effect twice, and the first answer is sent', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({match: {method: 'POST'}, action: 'twice'})
  const {body} = await call('POST', 'Leads', lead)
  t.is(crm.count('example', 'Leads'), 2)
  const [repeated, answered] = crm.journal({method: 'POST'})
  t.is(answered!.answer.data[0].details.id, body.data[0].details.id)
  t.not(repeated!.answer.data[0].details.id, body.data[0].details.id)
  t.like(repeated, {outcome: 'repeated', committed: true})
})

test('twice: the second answer can be a duplicate refusal caused by the first delivery', async t => {
  const {crm, call} = await openCrm(t)
  crm.faults.add({match: {method: 'POST'}, action: {type: 'twice', answer: 'second'}})
  const {status, body} = await call('POST', 'Accounts', account)
  t.is(status, 400)
  t.is(body.data[0].code, 'DUPLICATE_DATA')
  t.is(crm.count('example', 'Accounts'), 1)
})
