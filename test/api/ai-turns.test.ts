import anyTest, {type TestFn} from 'ava'
import {sql} from '../../sql/database.ts'
import {usageOf} from '../support/ai.ts'
import {chat, keep, openImport, openTalking, type Talk, type Talking} from '../support/conversations.ts'
import {ok} from '../support/importing.ts'

/** The tests run serially, because they share one model. */
const test = anyTest.serial as TestFn<Talking>
test.before(async t => void Object.assign(t.context, await openTalking(t)))
test.beforeEach(t => t.context.model.clear())

const rows = [['Berg', 'teal']]
const placed = ({importId, source}: Talk) => ({import: importId, place: ['source', source]})
const map = (talk: Talk, more: object = {}) =>
  talk.call('POST', '/ai/auto-map', {modules: ['People'], columns: ['Surname', 'Qzx'], rows, ...more})
const write = (talk: Talk, more: object = {}) => {
  const asked = {module: 'People', field: 'Favourite_Color', question: 'What is teal, for Zwentibold?'}
  return talk.call('POST', '/ai/formula', {...asked, columns: ['Surname', 'Qzx'], rows: [['Zwentibold', 'teal']], ...more})
}
const choice = {json: {field: 'People.Favourite_Color', confidence: 0.8, why: 'A colour'}}
const formula = {json: {expression: 'helpers.upper(row.Qzx)', explanation: 'Upper case'}}
const settled = async (talk: Talk, feature: string) => {
  const {requests, credits, balance} = await usageOf(talk, feature)
  return [requests, credits, balance.reserved]
}

test('a mapping is kept as a turn, charged only if the model was asked, and never sent to the model again', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  t.is((await ok(map(talk), 200)).turn, null)
  t.is((await ok(map(talk, {import: talk.importId}), 200)).turn, null)
  t.deepEqual((await talk.turns()).turns, [], 'none without a place')
  model.clear()
  const local = await ok(map(talk, {...placed(talk), columns: ['Surname'], rows: []}), 200)
  t.is(model.journal.length, 0)
  model.script(choice)
  const draft = {draft: true, draftId: 'd1', draftScope: 'gaps'}
  const asked = await ok(map(talk, {...placed(talk), ...draft}), 200)
  t.deepEqual([local.turn.position, asked.turn.position], [0, 1])
  const [second, first] = (await talk.turns()).turns
  const surname = {kind: 'mapping', column: 'Surname', module: 'People', field: 'Last_Name'}
  t.like(first, {id: local.turn.id, route: 'auto-map', question: 'Surname', samples: 'none', notes: []})
  t.like(first.targets, [surname])
  t.like(second, {id: asked.turn.id, route: 'auto-map', question: 'Surname, Qzx', samples: 'values', replayed: false, ...draft})
  t.is(second.answer, '2 of 2 columns have a field: Surname → People.Last_Name, Qzx → People.Favourite_Color')
  t.like(second.targets, [surname, {kind: 'mapping', column: 'Qzx', module: 'People', field: 'Favourite_Color', confidence: 0.8}])
  t.deepEqual((await settled(talk, 'auto_map')).slice(2), [0])
  model.faults.add({action: {type: 'garbage'}, times: Number.POSITIVE_INFINITY})
  t.is((await ok(map(talk, placed(talk)), 200)).turn.position, 2)
  t.regex((await talk.turns()).turns[0].notes[0], /did not answer/)
  model.clear()
  await chat(talk, {message: 'And now?', ...placed(talk)})
  t.is(JSON.parse(model.journal.at(-1)!.body).messages.length, 2, 'the instructions and the question')
})

test('a formula is kept as a turn, and the next question includes it in its masked form', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  await keep(house, talk, ['source', talk.source], {sent: null})
  model.script(formula)
  const {turn, credits} = await ok(write(talk, placed(talk)), 200)
  t.is(turn.position, 1)
  const [kept] = (await talk.turns()).turns
  t.like(kept, {
    id: turn.id,
    route: 'formula',
    question: 'What is teal, for Zwentibold?',
    answer: 'Upper case',
    samples: 'values',
    replayed: true,
  })
  t.deepEqual(kept.targets, [{kind: 'expression', module: 'People', field: 'Favourite_Color', expression: 'helpers.upper(row.Qzx)'}])
  t.deepEqual(await settled(talk, 'formula'), [1, credits, 0])
  await chat(talk, {message: 'And now?', ...placed(talk)})
  const [, question, answer] = JSON.parse(model.journal.at(-1)!.body).messages
  t.deepEqual([question.content, answer.content], ['What is teal, for […]?', 'Upper case'])
  await ok(talk.call('PATCH', talk.at('fields/People/City'), {pii: true}), 200)
  t.false((await talk.turns()).turns.find(({id}) => id === turn.id).replayed, 'what is personal now may stand in it')
})

test('a failed answer is no turn, and an answer that cannot be stored is not charged', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  model.faults.add({action: {type: 'wrongSchema'}})
  t.is((await write(talk, placed(talk))).status, 502)
  t.deepEqual((await talk.turns()).turns, [])
  await house.db.query(sql.unsafe`alter table conversation_turns add constraint none_now check (org_id <> ${sql.literalValue(talk.org)})`)
  t.teardown(() => house.db.query(sql.unsafe`alter table conversation_turns drop constraint none_now`))
  model.script(formula, choice)
  t.is((await write(talk, placed(talk))).status, 500)
  t.is((await map(talk, placed(talk))).status, 500)
  t.deepEqual((await settled(talk, 'formula')).slice(1), [0, 0])
  t.deepEqual((await settled(talk, 'auto_map')).slice(1), [0, 0])
})
