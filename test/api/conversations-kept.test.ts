import anyTest, {type TestFn} from 'ava'
import {listTurns} from '../../sql/conversations.ts'
import {findImport} from '../../sql/imports.ts'
import {deletePerson} from '../../sql/people.ts'
import {doNight} from '../../workers/retention/night.ts'
import {chat, keep, key, openImport, openTalking, type Talking} from '../support/conversations.ts'
import {ok} from '../support/importing.ts'
import {setWindow} from '../support/retention.ts'
import {until} from '../support/until.ts'

/** The tests run serially, because they share one model. */
const test = anyTest.serial as TestFn<Talking>
test.before(async t => void Object.assign(t.context, await openTalking(t)))
test.beforeEach(t => t.context.model.clear())

test('the newest six turns of a place are replayed, masked by the current policy, while the policy is unchanged', async t => {
  const {house, model} = t.context
  const talk = await openImport(house, {policy: 'allow'})
  const asked = {import: talk.importId, place: ['source', talk.source]}
  for (let n = 0; n < 8; n++) {
    model.script({text: `Answer ${n}`})
    await chat(talk, {message: `Question ${n}`, ...asked})
  }
  const replayed = async () => (await talk.turns()).turns.filter(one => one.replayed).map(({position}) => position)
  t.deepEqual(await replayed(), [7, 6, 5, 4, 3, 2])
  const sent = () =>
    JSON.parse(model.journal.at(-1)!.body)
      .messages.slice(1, -1)
      .map((one: any) => `${one.role} ${one.content}`)
  t.deepEqual(
    sent(),
    [1, 2, 3, 4, 5, 6].flatMap(n => [sent()[(n - 1) * 2], `assistant Answer ${n}`]),
  )
  t.deepEqual(
    sent().filter((one: string) => one.startsWith('user')),
    [1, 2, 3, 4, 5, 6].map(n => `user Question ${n}`),
  )
  await chat(talk, {message: 'Elsewhere', import: talk.importId, place: ['checks']})
  t.deepEqual(sent(), [], 'another place is another conversation')
  await keep(house, talk, ['run'], {sent: null})
  t.is((await talk.turns({place: key('run')})).turns[0].replayed, false, 'nothing was said')
  await ok(talk.call('PATCH', talk.at('fields/People/City'), {pii: true}), 200)
  t.deepEqual(await replayed(), [0], 'answers may hold values of what is personal now; the one at checks had none')
  model.clear()
  await chat(talk, {message: 'And now?', ...asked})
  t.deepEqual(sent(), [])
  t.deepEqual(await replayed(), [8, 0])
})

test('turns are deleted with their file, and with their import when it is deleted or expires', async t => {
  const {house} = t.context
  const talk = await openImport(house)
  const second = await talk.addSource('A,B\n1,2\n')
  for (const place of [['source', talk.source], ['issue', second, 'k', '', ''], ['issue', '', 'k', '', ''], ['run']])
    await keep(house, talk, place)
  await ok(talk.call('DELETE', `${talk.path}/sources/${second}`), 200)
  t.deepEqual(
    (await talk.turns()).turns.map(({place}) => place.kind),
    ['run', 'issue', 'source'],
  )
  const {no} = (await findImport(house.db, {org: talk.org, id: talk.importId}))!
  await ok(talk.call('DELETE', talk.path), 200)
  t.is((await talk.call('GET', `${talk.path}/conversations`)).status, 404)
  const left = {importNo: no, sourceId: null, place: null, keptAfter: null, before: null, limit: 9, mostNewer: 1}
  t.deepEqual(await listTurns(house.db, left), [])
  t.is(await keep(house, talk, ['run']), null, 'what is answered after that is not kept')
})

test('a turn about a file that the question names is deleted with the file, unless the caller sent the columns', async t => {
  const {house} = t.context
  const talk = await openImport(house)
  const second = await talk.addSource('A,B\n1,2\n')
  const asked = {message: 'Why?', import: talk.importId, source: second}
  await chat(talk, {...asked, place: ['run']})
  await chat(talk, {...asked, place: ['checks'], columns: ['Own']})
  const kinds = async (query = {}) => (await talk.turns(query)).turns.map(({place}) => place.kind)
  t.deepEqual(await kinds({source: second}), ['run'])
  t.deepEqual(await kinds(), ['checks', 'run'])
  await ok(talk.call('DELETE', `${talk.path}/sources/${second}`), 200)
  t.deepEqual(await kinds(), ['checks'])
})

test('an answer after its file or import was deleted is charged and not kept', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  const second = await talk.addSource('A,B\n1,2\n')
  const ask = async (place: unknown[], act: () => Promise<unknown>) => {
    model.clear()
    model.faults.add({action: {type: 'hold'}})
    const asking = chat(talk, {message: 'Slowly', import: talk.importId, place})
    await until(
      () => model.faults.held(),
      held => held === 1,
    )
    await act()
    model.faults.release()
    return (await asking).done
  }
  const ofFile = await ask(['source', second], () => talk.call('DELETE', `${talk.path}/sources/${second}`))
  t.is(ofFile.turn, null)
  t.true(ofFile.credits > 0)
  t.is((await ask(['run'], () => talk.call('DELETE', talk.path))).turn, null)
})

test('a turn names no author once its author is deleted', async t => {
  const {house} = t.context
  const talk = await openImport(house)
  const other = await house.makeOrg({org: talk.org, role: 'operator'})
  await keep(house, {...talk, person: other.person}, ['run'])
  t.is((await talk.turns()).turns[0].askedBy.id, other.person)
  await house.db.transaction(tx => deletePerson(tx, other.person))
  t.like((await talk.turns()).turns[0], {askedBy: null, question: 'Why?'})
  const reader = await house.makeOrg({org: talk.org, role: 'operator'})
  t.is((await ok(house.as(reader.token)('GET', `${talk.path}/conversations`), 200)).turns.length, 1, 'any member reads')
})

test('a turn is kept for the retention of the org’s plan, and the nightly task deletes older ones', async t => {
  const {house} = t.context
  const talk = await openImport(house)
  const lasting = house.as((await ok(talk.call('POST', `/orgs/${talk.org}/tokens`, {name: 'lasting'}), 201)).secret)
  await setWindow(house, talk, 30)
  t.teardown(() => house.ahead('0 days'))
  await keep(house, talk, ['run'], {question: 'First'})
  await house.ahead('29 days')
  await keep(house, talk, ['run'], {question: 'Second'})
  // Activity on the import keeps it from expiring, so that only old turns are deleted.
  await ok(lasting('PATCH', talk.path, {name: 'Kept'}), 200)
  await house.hot.query('update imports set touched_at = lading_now() where org_id = $1', [talk.org])
  await house.ahead('31 days')
  t.true(await doNight({...house.tools, drain: new AbortController().signal}))
  const {turns} = await ok(lasting('GET', `${talk.path}/conversations`), 200)
  t.deepEqual(
    turns.map(({question, position}: any) => [question, position]),
    [['Second', 1]],
  )
  await house.ahead('75 days')
  t.true(await doNight({...house.tools, drain: new AbortController().signal}))
  t.is((await lasting('GET', talk.path)).body.import.state, 'expired')
  t.deepEqual((await ok(lasting('GET', `${talk.path}/conversations`), 200)).turns, [])
})
