import test from 'ava'
import {ids, openCrm} from './crm-caller.ts'

// The facts are from the vendor's OpenAPI of timelines, operation getTimelines.

test('the timeline names who changed which fields, by which way and when, newest first', async t => {
  const {crm, call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Leads', {data: [{Last_Name: 'Ono', Phone: '1'}]}))
  crm.clock.advance(60_000)
  crm.update('example', 'Leads', [{id, Phone: '2'}], {as: 'ben@example.org'})
  crm.clock.advance(60_000)
  await call('PUT', 'Leads', {data: [{id, Phone: null}]})
  const {status, body} = await call('GET', `Leads/${id}/__timeline?sort_by=audited_time&sort_order=desc`)
  t.is(status, 200)
  t.deepEqual(
    body.__timeline.map(({action, source, done_by, audited_time}: any) => [action, source, done_by.name, audited_time]),
    [
      ['updated', 'crm_api', 'Ana Ruiz', '2026-03-02T09:17:40+01:00'],
      ['updated', 'crm_ui', 'Ben Okoye', '2026-03-02T09:16:40+01:00'],
      ['added', 'crm_api', 'Ana Ruiz', '2026-03-02T09:15:40+01:00'],
    ],
  )
  t.like(body.__timeline[0].field_history[0], {api_name: 'Phone', _value: {old: '2', new: 'blank'}})
  t.like(body.__timeline[1].field_history[0], {api_name: 'Phone', _value: {old: '1', new: '2'}})
})

test('pages of the timeline follow a token, which excludes per_page', async t => {
  const {crm, call} = await openCrm(t)
  crm.setSwitches({timelinePageSize: 2})
  const [id, other] = ids(await call('POST', 'Leads', {data: [{Last_Name: 'A'}, {Last_Name: 'B'}]}))
  for (const Phone of ['1', '2', '3']) await call('PUT', 'Leads', {data: [{id, Phone}]})
  const path = `Leads/${id}/__timeline`
  const first = (await call('GET', path)).body
  t.like(first.info, {per_page: 2, count: 2, page: 1, more_records: true})
  const second = (await call('GET', `${path}?page_token=${first.info.next_page_token}`)).body
  t.deepEqual(
    [...first.__timeline, ...second.__timeline].map(({action, field_history}: any) => field_history?.[0]._value.new ?? action),
    ['3', '2', '1', 'added'],
  )
  t.like(second.info, {page: 2, more_records: false, next_page_token: null})
  const refused = await call('GET', `${path}?per_page=2&page_token=${first.info.next_page_token}`)
  t.like(refused, {status: 400, body: {code: 'AMBIGUITY_DURING_PROCESSING'}})
  t.is((await call('GET', `Leads/${other}/__timeline?page_token=${first.info.next_page_token}`)).status, 400)
  t.is((await call('GET', `${path}?per_page=201`)).status, 400)
})

test('an unknown or deleted record, and a module without a timeline, are refused', async t => {
  const {call} = await openCrm(t)
  const [id] = ids(await call('POST', 'Leads', {data: [{Last_Name: 'A'}]}))
  await call('DELETE', `Leads/${id}`)
  t.like(await call('GET', `Leads/${id}/__timeline`), {status: 400, body: {code: 'INVALID_DATA', details: {resource_path_index: 1}}})
  t.like(await call('GET', `Campaigns/${id}/__timeline`), {status: 400, body: {code: 'INVALID_MODULE'}})
})

test('the timeline shows changes late if a switch says so', async t => {
  const {crm, call} = await openCrm(t)
  crm.setSwitches({timelineLagSeconds: 30})
  const [id] = ids(await call('POST', 'Leads', {data: [{Last_Name: 'A'}]}))
  t.is((await call('GET', `Leads/${id}/__timeline`)).status, 204)
  crm.clock.advance(30_000)
  t.is((await call('GET', `Leads/${id}/__timeline`)).body.info.count, 1)
})
