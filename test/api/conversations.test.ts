import anyTest, {type TestFn} from 'ava'
import {TURN_FORMAT} from '../../shared/assistant/conversations/turn.ts'
import {sql} from '../../sql/database.ts'
import {chat, keep, key, openImport, openTalking, type Talking, walk} from '../support/conversations.ts'
import {ok} from '../support/importing.ts'

/** The tests run serially, because they share one model. */
const test = anyTest.serial as TestFn<Talking>
test.before(async t => void Object.assign(t.context, await openTalking(t)))
test.beforeEach(t => t.context.model.clear())

test('a turn has its time, place, author and origin', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  const place = ['failed', talk.source, 'People', '', 'INVALID_DATA', '']
  model.script({text: 'As it should be.'})
  const draft = {draft: true, draftId: 'd1', draftScope: 'gaps'}
  const {done} = await chat(talk, {message: 'Is it?', import: talk.importId, place, ...draft})
  const {turns} = await talk.turns()
  const {askedAt, ...turn} = turns[0]
  t.regex(askedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  t.deepEqual(turn, {
    id: done.turn.id,
    place: {kind: 'failed', source: talk.source, module: 'People', problem: null, code: 'INVALID_DATA', field: null},
    route: 'chat',
    position: 0,
    question: 'Is it?',
    answer: 'As it should be.',
    notes: [],
    targets: [],
    samples: 'values',
    askedBy: {id: talk.person, name: 'Test Person'},
    askedVia: 'session',
    replayed: true,
    ...draft,
  })
  const {secret} = await ok(talk.call('POST', `/orgs/${talk.org}/tokens`, {name: 'ci'}), 201)
  await chat({call: house.as(secret)}, {message: 'By a program?', import: talk.importId, place: ['run']})
  t.like((await talk.turns()).turns[0], {askedVia: 'api_token', askedBy: {id: talk.person}, position: 0, draft: false, draftId: null})
  await keep(house, talk, ['run'], {}, 0, 'oauth')
  t.like((await talk.turns()).turns[0], {askedVia: 'mcp', position: 1})
})

const BAD = [
  '',
  'source',
  'null',
  '{}',
  '[]',
  '[1]',
  '["source"]',
  '["source",""]',
  '["source",1]',
  '["source","a","b"]',
  '["nowhere"]',
  '["checks","x"]',
  '["run",""]',
  '["vals"]',
  '["vals",""]',
  '["field","","M","F"]',
  '["failed","","","",""]',
  '["issue","","","",""]',
  '["vals","a\\u0000b"]',
  '["vals","\\ud800"]',
  '["constructor"]',
  '["__proto__"]',
  key('vals', 'x'.repeat(600)),
  '["vals","M"',
]

test('a place is one of a closed set, and an invalid place key is refused', async t => {
  const {house} = t.context
  const talk = await openImport(house)
  const other = await openImport(house)
  const good = [
    ['source', talk.source],
    ['field', talk.source, 'M', 'F'],
    ['vals', 'M'],
    ['failed', '', '', '', '', ''],
    ['checks'],
    ['run'],
    ['failed', talk.source, 'M', 'k', 'c', 'f'],
    ['issue', '', 'k', '', ''],
    ['issue', talk.source, 'k', 'M', 'F'],
  ]
  for (const place of good) {
    await keep(house, talk, place)
    const {turns} = await talk.turns({place: JSON.stringify(place, null, 1)})
    t.deepEqual([turns.length, turns[0].place.kind], [1, place[0]], `${place}`)
  }
  for (const place of [...BAD, key('source', other.source), key('source', 'src_none'), key('issue', other.source, 'k', '', '')]) {
    const answer = await talk.call('GET', `${talk.path}/conversations?${new URLSearchParams({place})}`)
    t.deepEqual([answer.status, answer.body.code], [400, 'INVALID_PLACE'], place)
  }
  for (const place of [null, 'checks', {kind: 'checks'}, ['source', other.source], ['nowhere']]) {
    const {status, body} = await talk.call('POST', '/ai/chat', {message: 'x', import: talk.importId, place})
    t.deepEqual([status, body.code], [400, 'INVALID_PLACE'], JSON.stringify(place))
  }
  for (const body of [{place: ['checks']}, {source: talk.source}, {draftId: 'x'}, {draft: true, draftScope: 'all'}, {rows: [['x']]}])
    t.is((await talk.call('POST', '/ai/chat', {message: 'x', ...body})).body.code, 'INVALID', JSON.stringify(body))
})

test('turns are listed by file, by place, or without a filter', async t => {
  const {house} = t.context
  const talk = await openImport(house)
  const second = await talk.addSource('A,B\n1,2\n')
  for (const place of [['source', talk.source], ['source', second], ['checks'], ['checks'], ['field', second, 'People', 'City']])
    await keep(house, talk, place)
  const kinds = async (query: Record<string, string>) =>
    (await talk.turns(query)).turns.map(({place, position}) => `${place.kind} ${position}`)
  t.deepEqual(await kinds({}), ['field 0', 'checks 1', 'checks 0', 'source 0', 'source 0'])
  t.deepEqual(await kinds({source: second}), ['field 0', 'source 0'])
  t.deepEqual(await kinds({place: key('checks')}), ['checks 1', 'checks 0'])
  t.deepEqual(await kinds({source: talk.source, place: key('checks')}), [])
  t.is((await talk.call('GET', `${talk.path}/conversations?source=src_none`)).body.code, 'SOURCE_NOT_FOUND')
  t.is((await talk.call('GET', `/orgs/${talk.org}/imports/imp_none/conversations`)).body.code, 'IMPORT_NOT_FOUND')
})

test('a page has fifty turns by default and two hundred at most; an invalid limit uses the default', async t => {
  const {house} = t.context
  const talk = await openImport(house)
  for (let n = 0; n < 3; n++) await keep(house, talk, ['run'])
  await house.db.query(sql.unsafe`
    insert into conversation_turns (id, org_id, import_no, place, position, format, asked_at, asked_by, asked_via, body)
    select t.id || lpad(n::text, 4, '0'), org_id, import_no, place, n, format, asked_at, asked_by, asked_via, body
    from conversation_turns t, generate_series(10, 230) n where org_id = ${talk.org} and position = 2`)
  const count = async (query: Record<string, string>) => (await talk.turns(query)).turns.length
  t.is(await count({}), 50)
  t.is(await count({limit: '7'}), 7)
  for (const limit of ['0', '-3', '1.5', 'many', '', '1e2', ' 5']) t.is(await count({limit}), 50, `[${limit}]`)
  for (const limit of ['200', '201', '99999999999999999999']) t.is(await count({limit}), 200, limit)
})

test('pages are newest first and stable while turns are added; keptAfter finds turns added above the cursor', async t => {
  const {house} = t.context
  const talk = await openImport(house)
  const ids: string[] = []
  // Each of six moments has five turns, so that a page can end between turns of the same moment.
  for (let n = 0; n < 30; n++) ids.push((await keep(house, talk, ['run'], {}, 600 - Math.floor(n / 5) * 60))!.id)
  const newest = ids.toSorted().at(-1)!
  const late: string[] = []
  // Concurrent requests add turns that are older and newer than those read so far.
  const write = () => Promise.all([5000, 330, 0, 0].map(async seconds => late.push((await keep(house, talk, ['checks'], {}, seconds))!.id)))
  const found = await walk(talk, {limit: '4'}, write)
  const seen = found.map(({id}) => id)
  t.is(new Set(seen).size, seen.length, 'none twice')
  t.deepEqual(seen.filter(id => ids.includes(id)).toSorted(), ids.toSorted(), 'none left out that was there')
  const order = found.map(({askedAt, id}) => `${askedAt} ${id}`)
  t.deepEqual(order, order.toSorted().toReversed())
  t.true(
    late.some(id => !seen.includes(id)),
    'some landed above the cursor',
  )
  const fresh = await walk(talk, {keptAfter: newest, limit: '7'})
  t.deepEqual(fresh.map(({id}) => id).toSorted(), late.toSorted(), 'every turn kept since, regardless of its order')
  t.deepEqual((await walk(talk, {limit: '200'})).length, ids.length + late.length)
})

test('polling by keptAfter misses no turn that concurrent writers keep', async t => {
  const {house} = t.context
  const talk = await openImport(house)
  const kept: string[] = []
  const seen = new Set<string>()
  let newest = '0'
  const look = async () => {
    for (const {id} of await walk(talk, {keptAfter: newest})) seen.add(id)
    newest = [...seen].toSorted().at(-1) ?? '0'
  }
  const writers = Promise.all(
    [0, 1, 2, 3].map(async writer => {
      for (let n = 0; n < 10; n++) kept.push((await keep(house, talk, ['vals', `M${writer % 2}`], {}, n * 7))!.id)
    }),
  )
  let isOver = false
  const watching = (async () => {
    while (!isOver) await look()
    await look()
  })()
  await writers
  isOver = true
  await watching
  t.deepEqual([...seen].toSorted(), kept.toSorted())
  for (const module of ['M0', 'M1']) {
    const {turns} = await talk.turns({place: key('vals', module)})
    t.deepEqual(
      turns.map(({position}) => position).toSorted((a, b) => a - b),
      Array.from({length: 20}, (_, n) => n),
    )
  }
})

test('turn ids sort by storage order, also after an id from a clock ahead of ours', async t => {
  const {house} = t.context
  const talk = await openImport(house)
  await keep(house, talk, ['run'])
  await house.db.query(sql.unsafe`update conversation_turns set id = 'trn_7zzzzzzzzzzzzzzzzzzzzzzz8z' where org_id = ${talk.org}`)
  const next = (await keep(house, talk, ['run']))!.id
  t.is(next, 'trn_7zzzzzzzzzzzzzzzzzzzzzzz90')
  t.deepEqual(
    (await talk.turns({keptAfter: 'trn_7zzzzzzzzzzzzzzzzzzzzzzz8z'})).turns.map(({id}) => id),
    [next],
  )
})

test('text that Postgres cannot store is refused in a question and replaced in an answer', async t => {
  const {house, model} = t.context
  const talk = await openImport(house)
  await keep(house, talk, ['run'])
  for (const query of ['source=%00', 'keptAfter=%00', 'place=%00', 'cursor=%00'])
    t.is((await talk.call('GET', `${talk.path}/conversations?${query}`)).status, 400, query)
  t.is((await talk.turns({keptAfter: 'trn_zzz'})).turns.length, 0)
  const odd = 'half \ud800, nothing \0'
  t.is((await talk.call('POST', '/ai/chat', {message: odd})).status, 400)
  model.script({text: odd})
  t.is((await chat(talk, {message: 'Well?', import: talk.importId, place: ['run']})).done.turn.position, 1)
  t.is((await talk.turns()).turns[0].answer, 'half \ufffd, nothing \ufffd')
})

test('a cursor of another list is refused', async t => {
  const {house} = t.context
  const talk = await openImport(house)
  const other = await openImport(house)
  for (let n = 0; n < 3; n++) await Promise.all([keep(house, talk, ['run']), keep(house, other, ['run'])])
  const {nextCursor} = await talk.turns({limit: '1'})
  const foreign = (await other.turns({limit: '1'})).nextCursor!
  for (const query of [
    {cursor: foreign},
    {cursor: 'x'},
    {cursor: ''},
    {cursor: nextCursor!, place: key('run')},
    {cursor: nextCursor!, keptAfter: 'a'},
  ]) {
    const answer = await talk.call('GET', `${talk.path}/conversations?${new URLSearchParams(query as Record<string, string>)}`)
    t.deepEqual([answer.status, answer.body.code], [400, 'INVALID_CURSOR'], JSON.stringify(query))
  }
})

test('a turn of a newer build is left out of its page, and later pages are still found', async t => {
  const {house} = t.context
  const talk = await openImport(house)
  for (let n = 0; n < 6; n++) await keep(house, talk, ['run'])
  await house.db.query(sql.unsafe`
    update conversation_turns set format = ${TURN_FORMAT + 1}, place = '["galaxy"]', body = '{"said": "differently"}'
    where org_id = ${talk.org} and position in (2, 4, 5)`)
  const first = await talk.turns({limit: '2'})
  t.deepEqual([first.turns, typeof first.nextCursor], [[], 'string'])
  t.deepEqual(
    (await walk(talk, {limit: '2'})).map(({position}) => position),
    [3, 1, 0],
  )
  const next = await keep(house, talk, ['run'])
  t.is(next!.position, 4, 'those at its own place alone are counted')
})
