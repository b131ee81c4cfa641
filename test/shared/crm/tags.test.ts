import test, {type ExecutionContext} from 'ava'
import type {RecordAnswer} from '../../../shared/crm/crm.ts'
import {place} from './crm-fixture.ts'

const openPlace = async (t: ExecutionContext) => {
  const {standIn, crm, connect} = await place(t, {environment: {CRM_TIMEOUT_SECONDS: '1'}})
  return {standIn, connection: await crm.open(await connect())}
}

const lead = (name: string) => ({Last_Name: name})
const problemOf = (result: RecordAnswer | undefined) => (result && !result.ok && result.sent ? result.crm : null)

test('tags are added beside the tags that a record has, with one result per record in order', async t => {
  const {standIn, connection} = await openPlace(t)
  const {results} = await connection.createRecords('Leads', [lead('One'), lead('Two'), lead('Three')], {})
  const ids = results.map(result => (result.ok ? result.recordId : ''))
  standIn.mark('example', 'Leads', [ids[1]!], {locked: true})
  const tag = (...tags: string[]) => connection.addTags!('Leads', {ids, tags}, {})
  await tag('Fair')
  const tagged = await tag('fair', 'May')
  t.deepEqual(
    tagged.results.map(result => (result.ok ? result.recordId : problemOf(result)?.code)),
    [ids[0], 'RECORD_LOCKED', ids[2]],
  )
  const tagsOf = (id: string) => standIn.record('example', 'Leads', id)!.Tag.map(({name}: any) => name)
  t.deepEqual(ids.map(tagsOf), [['Fair', 'May'], [], ['Fair', 'May']])
  const [refused] = (await tag('x'.repeat(26))).results
  t.is(problemOf(refused)?.code, 'INVALID_DATA')
  standIn.faults.add({match: {path: '/crm/v8/Leads/actions/add_tags'}, times: 1, action: {type: 'dropAfter'}})
  t.is(problemOf((await tag('Lost')).results[0])?.unanswered, true)
  t.true(tagsOf(ids[0]!).includes('Lost'))
})
