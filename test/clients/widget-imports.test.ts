import test from 'ava'
import {z} from 'zod'
import {listAmbiguousDates, readDay} from '../../api/clients/ambiguous-dates.ts'
import {usualMappings} from '../../api/clients/column-mapping.ts'
import {sampleOf} from '../../api/clients/sample.ts'
import {makeStep, moved, newDraft, readRanges, sayStep, stepKinds} from '../../api/clients/widget/imports/cleaning.ts'
import {isFillable} from '../../api/clients/widget/imports/fields.ts'
import {
  dropMapping,
  issuesAt,
  missingFields,
  newFlowId,
  putMapping,
  sayIssue,
  strangeWords,
  tidyFlow,
  unusedColumns,
} from '../../api/clients/widget/imports/flows.ts'
import type {Flow, Source} from '../../api/clients/widget/imports/import.ts'
import {acceptAll, choicesFor, sureProposals, takeColumn} from '../../api/clients/widget/imports/proposal.ts'
import {sayReader, sayReasons} from '../../api/clients/widget/imports/reading.ts'
import {type ImportProgress, stepsOf} from '../../api/clients/widget/imports/steps.ts'
import {sayTested} from '../../api/clients/widget/imports/tried.ts'
import {assertSample, sampleShape} from '../../shared/assistant/sample.ts'
import {Cleaning} from '../../shared/files/cleaning/cleaning.ts'
import {Flow as ServerFlow} from '../../shared/mapping/flows/flow.ts'
import {field, problem, proposal} from './widget-samples.ts'

const fields = [
  field('Last_Name', {required: true}),
  field('Email', {type: 'email'}),
  field('City'),
  field('Account', {type: 'lookup', lookup: {module: 'Accounts'}}),
]
const flow: Flow = {id: 'leads', sourceId: 's', module: 'Leads', fields: []}
const columns = (...names: string[]) => ({columns: names.map(name => ({name}))}) as unknown as Source

test('proposals are accepted from the threshold on, one per field, and never for a mapped field', t => {
  const proposals = [
    proposal('Name', 'Last_Name', 0.99),
    proposal('Mail', 'Email', 0.8),
    proposal('Town', 'City', 0.79),
    proposal('X', null, 0),
  ]
  const unused = ['Name', 'Mail', 'Town', 'X']
  const sure = sureProposals(flow, {proposals, fields, unused, least: 0.8})
  t.deepEqual(
    sure.map(({proposal: {column}}) => column),
    ['Name', 'Mail'],
  )
  const taken = acceptAll(flow, sure)
  t.deepEqual(
    taken.fields.map(({field: name, source, mode}) => [name, source, mode]),
    [
      ['Last_Name', 'Name', 'column'],
      ['Email', 'Mail', 'column'],
    ],
  )
  t.deepEqual(
    sureProposals(taken, {proposals, fields, unused: unusedColumns(taken, columns(...unused)), least: 0.5}).map(
      ({field: {apiName}}) => apiName,
    ),
    ['City'],
  )
  const static_ = putMapping(flow, {field: 'City', mode: 'static', staticValue: 'Bern'})
  t.deepEqual(
    sureProposals(static_, {proposals, fields, unused, least: 0.5}).map(({field: {apiName}}) => apiName),
    ['Last_Name', 'Email'],
  )
})

test('a column mapped to another field leaves its old field, also a lookup, and a lookup field is searched', t => {
  const before = takeColumn(flow, 'Town', fields[2]!)
  const after = takeColumn(before, 'Town', fields[3]!)
  t.deepEqual(
    after.fields.map(({field: name, mode}) => [name, mode]),
    [['Account', 'search']],
  )
  const back = takeColumn(after, 'Town', fields[2]!)
  t.deepEqual(
    back.fields.map(({field: name, mode}) => [name, mode]),
    [['City', 'column']],
  )
  const byExpression = {...flow, fields: [{...after.fields[0]!, searchExpression: '({})'}]}
  t.is(takeColumn(byExpression, 'Town', fields[2]!).fields.length, 2, 'a search by an expression stays')
})

test('candidates of a column are listed by confidence, without mapped fields', t => {
  const candidates = [
    {field: 'City', module: 'Leads', confidence: 0.5, why: ['similar']},
    {field: 'Email', module: 'Leads', confidence: 0.4, why: []},
  ]
  const asked = proposal('Town', 'City', 0.5, {candidates})
  t.deepEqual(
    choicesFor(flow, asked, fields).map(one => one.field),
    ['City', 'Email'],
  )
  const taken = putMapping(flow, {field: 'City', mode: 'static', staticValue: 'x'})
  t.deepEqual(
    choicesFor(taken, asked, fields).map(one => one.field),
    ['Email'],
  )
})

test('required fields are missing until mapped, and removing a mapping also removes its match', t => {
  t.deepEqual(
    missingFields(flow, fields).map(({apiName}) => apiName),
    ['Last_Name'],
  )
  t.deepEqual(missingFields(putMapping(flow, {field: 'Last_Name', mode: 'skip'}), fields).length, 1)
  const mapped = {
    ...putMapping(flow, {field: 'Last_Name', mode: 'column', source: 'Name'}),
    match: {by: ['Last_Name'], onOne: 'update', onMany: 'ask'},
  } as Flow
  t.is(missingFields(mapped, fields).length, 0)
  t.false('match' in dropMapping(mapped, 'Last_Name'), 'existing records are undecided again, not duplicated')
  t.false(isFillable(field('Score', {type: 'formula'})))
})

test('a saved flow holds only what the server accepts: no settings of other modes and no nulls', t => {
  const typed: Flow = {
    ...flow,
    filter: '  ',
    fields: [
      {field: 'City', mode: 'static', staticValue: 'Bern', source: 'Town', transform: 'value', onMany: 'ask', empty: 'leave'},
      {field: 'Account', mode: 'search', source: 'Firm', searchField: null, transform: 'x', picklist: 'pass'},
      {field: 'Tier', mode: 'column', source: 'Tier', picklist: 'map', map: {gold: 'Gold'}, format: ''},
    ],
  }
  const tidy = tidyFlow(typed)
  t.deepEqual(tidy.fields, [
    {field: 'City', mode: 'static', staticValue: 'Bern', empty: 'leave'},
    {field: 'Account', mode: 'search', source: 'Firm'},
    {field: 'Tier', mode: 'column', source: 'Tier', values: [{from: 'gold', to: 'Gold'}]},
  ])
  t.false('filter' in tidy)
  t.true(ServerFlow.safeParse(tidy).success)
})

test('a new flow gets a unique id that the server accepts', t => {
  t.is(newFlowId([], 'Leads'), 'leads')
  t.is(newFlowId([flow, {...flow, id: 'leads_2'}], 'Leads'), 'leads_3')
  t.true(ServerFlow.shape.id.safeParse(newFlowId([], 'Größe & Gewicht'.repeat(9))).success)
})

test('an issue is found by its path, and one in an expression gives line and column', t => {
  const issues = [
    {path: [0, 'fields', 1, 'transform'], message: 'Unexpected token', line: 2, column: 5},
    {path: [1, 'match', 'by', 0], message: 'x'},
  ]
  t.deepEqual(
    issuesAt(issues, 0, 'fields', 1).map(({path}) => path),
    [['transform']],
  )
  t.is(sayIssue(issues[0]!), 'Line 2, column 5: Unexpected token')
  t.deepEqual(issuesAt(issues, 0, 'fields', 10), [])
})

test('a new flow begins with the default mappings whose columns the file has, and seed mappings precede them', t => {
  const told = [
    field('Source', {annotation: {defaultMapping: {mode: 'static', staticValue: 'Fair'}}}),
    field('Tier', {annotation: {defaultMapping: {mode: 'column', source: 'Level'}}}),
    field('City', {annotation: {description: 'x'}}),
  ]
  t.deepEqual(usualMappings(told, ['Name'], []), [{field: 'Source', mode: 'static', staticValue: 'Fair'}])
  t.is(usualMappings(told, ['Level'], []).length, 2)
  const [, tier] = told
  const skipped = {...tier!, annotation: {defaultMapping: {...tier!.annotation!.defaultMapping, skip: true}}}
  t.deepEqual(usualMappings([skipped], ['Level'], []), [{field: 'Tier', mode: 'skip'}])
  t.deepEqual(usualMappings([{...tier!, excluded: true}], ['Level'], []), [])
  const seeded = (seed: object) => usualMappings([tier!], ['Level', 'Rank'], [{field: 'Tier', ...seed}])
  t.deepEqual(seeded({skip: true}), [{field: 'Tier', mode: 'skip'}])
  t.deepEqual(seeded({mode: 'skip'}), [{field: 'Tier', mode: 'skip'}])
  t.deepEqual(seeded({source: 'Rank'}), [{field: 'Tier', mode: 'column', source: 'Rank'}])
  t.deepEqual(seeded({mode: 'column', source: 'Class'}), [{field: 'Tier', mode: 'column', source: 'Level'}])
})

test('values missing in a picklist are listed once, ignoring case', t => {
  const tier = field('Tier', {picklist: [{display: 'Gold', actual: 'G'}]})
  t.deepEqual(strangeWords(['gold', 'g', ' Silver', 'silver', ''], tier), ['silver'])
  const country = field('Country', {picklist: [{display: 'Österreich', actual: 'AT'}]})
  t.deepEqual(strangeWords(['Österreich'.normalize('NFD')], country), [], 'texts from macOS are decomposed')
})

test('every kind of cleaning step becomes one that the server accepts, or names its missing input', t => {
  const drafts: Record<string, object> = {
    replace: {find: 'a', with: 'b'},
    fillDown: {columns: ['A']},
    strikeDuplicates: {columns: ['A']},
    split: {column: 'A', into: 'B, C'},
    strikeRows: {rows: '3, 10-12'},
    strikeWhere: {expression: 'true'},
  }
  for (const {step} of stepKinds) {
    const made = makeStep({...newDraft(step), ...drafts[step]})
    if (!('step' in made)) return t.fail(step)
    t.true(Cleaning.safeParse([made.step]).success, step)
    t.true(sayStep(made.step).length > 5)
  }
  for (const step of Object.keys(drafts)) t.true('missing' in makeStep(newDraft(step)), step)
  t.deepEqual(readRanges('5-3'), null)
  t.deepEqual(readRanges('7, 9 – 11'), [
    {from: 7, to: 7},
    {from: 9, to: 11},
  ])
  t.deepEqual(moved([1, 2, 3], 1, -1), [2, 1, 3])
  t.deepEqual(moved([1, 2, 3], 2, 1), [1, 2, 3])
})

test('a date is read in the chosen order, and not at all if invalid', t => {
  t.is(readDay('03/04/2025', 'dmy'), '2025-04-03')
  t.is(readDay('03/04/2025', 'mdy'), '2025-03-04')
  t.is(readDay('31.2.2025', 'dmy'), null)
  t.is(readDay('03/04/25', 'dmy'), null, 'a run does not read it')
  t.is(readDay('soon', 'dmy'), null)
})

test('only dates that are another day in each order are examples of the question about the order', t => {
  t.deepEqual(listAmbiguousDates(['2026-05-06', '03/04/25', '31/01/2026', '05.05.2026', '03/04/2026 10:30']), ['03/04/2026 10:30'])
  t.deepEqual(listAmbiguousDates(['2026-05-06', '2026-05-07']), [])
})

test("the description of a file's reader names each setting and the reasons", t => {
  const csv = {
    format: 'csv',
    encoding: 'utf-8',
    delimiter: ';',
    quote: '"',
    strictQuotes: false,
    headerRow: true,
    skipRows: 1,
    comment: null,
    shortRows: 'refuse',
  } as const
  t.is(sayReader(csv), 'CSV, utf-8, semicolon-delimited, header in first row, 1 line skipped above')
  t.deepEqual(sayReasons(undefined), [])
  t.is(sayReasons({sheet: 'A', how: 'only', sheets: []}).length, 1)
})

test('the test result of an expression is one sentence', t => {
  const tried = {
    compiles: true,
    issue: null,
    results: [
      {row: 1, value: 'a', problem: null},
      {row: 2, error: {code: 'X', message: 'broke', line: 1, column: 4}},
    ],
  }
  t.deepEqual(sayTested(tried), {isWrong: true, text: '1 of 2 sample rows fail. Row 2: Line 1, column 4: broke'})
  t.false(sayTested({...tried, results: tried.results.slice(0, 1)}).isWrong)
  t.is(sayTested({compiles: false, issue: {message: 'no', line: null, column: null}, results: []}).text, 'no')
})

test('each step of an import shows its state', t => {
  const source = {id: 's', problems: [{kind: 'ambiguous', column: 'A', message: '', fix: ''}]} as unknown as Source
  const found = {state: 'draft', flows: [], slots: [], sources: []} as unknown as ImportProgress['import']
  const states = (standing: ImportProgress) => stepsOf(standing).map(({state}) => state)
  t.deepEqual(states({import: found, checks: null, runs: []}), Array(4).fill('todo'))
  const ready = {...found, state: 'ready', flows: [flow], sources: [source]} as ImportProgress['import']
  const checks = {checks: {state: 'done', startedAt: '', endedAt: 'x', rows: 1, stale: false}, problems: [problem]}
  const run = {id: 'r', state: 'ended', dryRun: false, counts: {}, stop: null, endedAt: 'x', authorisedAt: ''}
  t.deepEqual(states({import: ready, checks, runs: [run]}), ['done', 'problems', 'done', 'done'])
  const later = {
    import: ready,
    checks: {...checks, checks: {...checks.checks, stale: true}},
    runs: [{...run, state: 'writing', endedAt: null}],
  }
  t.deepEqual(states(later), ['done', 'todo', 'busy', 'todo'])
  const unread = {...ready, sources: [{...source, problems: [{kind: 'encoding'}]}]} as unknown as ImportProgress['import']
  t.is(stepsOf({import: unread, checks, runs: []})[0]!.said, '1 question')
  const trying = [{...run, dryRun: true, endedAt: null}]
  t.like(stepsOf({import: ready, checks, runs: trying})[1]!, {key: 'review', state: 'busy'})
  t.like(stepsOf({...later, runs: []})[1]!, {state: 'todo', said: 'out of date'}, 'the file or the mapping changed since the check')
})

test('a sample of a file always fits the limits of the server', t => {
  const row = (values: string[], struck: string | null = null, ragged = false) => ({values, struck, ragged})
  const Taken = z.strictObject(sampleShape).superRefine(assertSample)
  const names = (count: number) => Array.from({length: count}, (_, at) => `Column ${at}`)
  const wide = sampleOf(names(700), Array(30).fill(row(Array(700).fill('x'.repeat(5000)))))
  t.deepEqual([wide.columns.length, wide.rows.length, wide.rows[0]?.length, wide.rows[0]?.[0]?.length], [500, 1, 500, 1000])
  t.true(Taken.safeParse(wide).success)
  const long = sampleOf(
    ['a', 'n'.repeat(1000), 'c'],
    [row(['1', '2', '3']), row(['4', '5', '6'], 'struck'), row(['7'], null, true), row(['8', '9', ''])],
  )
  t.deepEqual(long.columns, ['a', 'c'])
  t.is(long.rows.join('; '), '1,3; 8,')
  t.true(Taken.safeParse(long).success)
})
