import test from 'ava'
import {Flow, Flows, findIssues} from '../../../../shared/mapping/flows/flow.ts'
import {formatOf, Snapshot, takeSnapshot} from '../../../../shared/mapping/flows/snapshot.ts'
import {field, module} from '../../../support/discovered.ts'

const things = module('Things', [
  field('Name', {required: true}),
  field('Code', {unique: {caseSensitive: false}}),
  field('Made_At', {readOnly: true}),
  field('Number', {creatable: false}),
  field('Lines', {type: 'subform'}),
  field('Tags', {type: 'multiselectlookup'}),
])
const known = {
  sources: [{id: 's1', columns: ['name', 'code']}],
  modules: new Map([things, module('Lines', [], {kind: 'subform', creatable: false})].map(one => [one.apiName, one])),
}

const base = {id: 'f', sourceId: 's1', module: 'Things', fields: [{field: 'Name', mode: 'column', source: 'name'}]}
const flow = (more: object = {}) => Flow.parse({...base, ...more})
const withField = (mapping: object) => flow({fields: [...base.fields, mapping]})
const issuesOf = (...flows: Flow[]) => findIssues(flows, known).map(({path, message}) => [path.join('.'), message] as const)

test('valid flows have no issue', t => {
  t.deepEqual(issuesOf(flow(), flow({id: 'g', match: {by: ['Name']}})), [])
  t.deepEqual(issuesOf(withField({field: 'Code', mode: 'skip'})), [])
})

const wrong: Record<string, [Flow, string]> = {
  'a file outside the import': [flow({sourceId: 's2'}), '0.sourceId'],
  'an unknown module': [flow({module: 'Nothing'}), '0.module'],
  'a module written only within its parent': [flow({module: 'Lines'}), '0.module'],
  'a field mapped twice': [withField({field: 'Name', mode: 'static', staticValue: 'x'}), '0.fields.1.field'],
  'an unknown field': [withField({field: 'Colour', mode: 'column', source: 'code'}), '0.fields.1.field'],
  'a field that is read only': [withField({field: 'Made_At', mode: 'column', source: 'code'}), '0.fields.1.field'],
  'a field that a create cannot set': [withField({field: 'Number', mode: 'column', source: 'code'}), '0.fields.1.field'],
  'a subform': [withField({field: 'Lines', mode: 'column', source: 'code'}), '0.fields.1.field'],
  'several lookups at once': [withField({field: 'Tags', mode: 'column', source: 'code'}), '0.fields.1.field'],
  'a static mapping without a value': [withField({field: 'Code', mode: 'static'}), '0.fields.1.staticValue'],
  'a column mapping without a column': [withField({field: 'Code', mode: 'column'}), '0.fields.1.source'],
  'an unknown column': [withField({field: 'Code', mode: 'column', source: 'Code'}), '0.fields.1.source'],
  'a match by an unknown field': [flow({match: {by: ['Name', 'Colour']}}), '0.match.by.1'],
  'a match by an unmapped field': [flow({match: {by: ['Code']}}), '0.match.by.0'],
  'a match by a field that is skipped': [
    flow({match: {by: ['Code']}, fields: [...base.fields, {field: 'Code', mode: 'skip'}]}),
    '0.match.by.0',
  ],
  'an unmapped required field': [flow({fields: [{field: 'Code', mode: 'column', source: 'code'}]}), '0.fields'],
  'a required field that is skipped': [flow({fields: [{field: 'Name', mode: 'skip'}]}), '0.fields'],
}

const source = (id: string, no: number) => ({id, no, label: id, fileKey: 'k', sha256: 'x', reader: {}, columns: ['name', 'code'], rows: 1})
const bills = (more: object) =>
  new Map(
    [
      module('Bills', [field('Name', {required: true}), field('Lines', {type: 'subform', subform: {module: 'Lines'}, ...more})]),
      module('Lines', [field('Item', {type: 'lookup', lookup: {module: 'Items'}})], {kind: 'subform', creatable: false}),
      module('Items', [field('Name', {required: true})]),
    ].map(one => [one.apiName, one]),
  )
const bill = flow({id: 'bills', module: 'Bills'})
const line = flow({
  id: 'lines',
  module: 'Lines',
  fields: [{field: 'Item', mode: 'search', source: 'code', searchField: 'Name'}],
  subform: {field: 'Lines', child: 'Lines', parentFlow: 'bills'},
})

test('a mandatory subform needs a flow for its rows, and the issue says what to add', t => {
  const found = (...flows: Flow[]) => findIssues(flows, {...known, modules: bills({required: true})})
  t.deepEqual(found(bill, line), [])
  t.deepEqual(found(bill), [{path: [0, 'fields'], message: "Bills cannot be created without Lines. Add the rows' sheet as a subform flow"}])
})

test('records looked up by rows of a mandatory subform are created before the parents', t => {
  const item = flow({id: 'items', module: 'Items'})
  const pathsOf = (more: object, ...flows: Flow[]) => findIssues(flows, {...known, modules: bills(more)}).map(({path}) => path.join('.'))
  t.deepEqual(pathsOf({required: true}, bill, item, line), ['2.subform.parentFlow'])
  t.deepEqual(pathsOf({layoutRequired: true}, bill, item, line), ['2.subform.parentFlow'])
  t.deepEqual(pathsOf({required: true}, item, bill, line), [])
  t.deepEqual(pathsOf({}, bill, item, line), [])
})

test('a snapshot marks flows whose rows are sent with a new parent, and older builds refuse it', t => {
  const taken = (more: object) =>
    takeSnapshot({connector: 'c', discovery: 'd', seed: 'x', sources: [source('s1', 1)], flows: [bill, line], modules: bills(more)})
  const nestedIn = (more: object) => [taken(more).flows[1]!.nested, formatOf(taken(more))]
  t.deepEqual(nestedIn({required: true}), ['required', 5])
  t.deepEqual(nestedIn({layoutRequired: true}), ['layout', 5])
  t.deepEqual(nestedIn({}), [undefined, 4])
})

test('earlier builds refuse a snapshot whose reader has an option that they do not know', t => {
  const formatFor = (reader: object) => formatOf({sources: [{...source('s1', 1), reader}], modules: [], flows: []})
  t.deepEqual([{openQuotes: 'refuse'}, {decimals: 'shortest'}, {}].map(formatFor), [10, 9, 4])
})

for (const [what, [one, path]] of Object.entries(wrong)) {
  test(`${what} is one issue, at ${path}`, t => {
    t.deepEqual(
      issuesOf(one).map(([at]) => at),
      [path],
    )
  })
}

test('all issues of all flows are reported with their paths', t => {
  const found = issuesOf(flow(), flow({sourceId: 's2'}), withField({field: 'Colour', mode: 'column', source: 'nothing'}))
  t.deepEqual(
    found.map(([at]) => at),
    ['1.id', '2.id', '1.sourceId', '2.fields.1.field'],
  )
})

test('a malformed flow is refused before any lookup', t => {
  const bad = [
    {...base, id: 'a.b'},
    {...base, id: ''},
    {...base, fields: []},
    {...base, match: {by: []}},
    {...base, match: {by: ['Name'], onOne: 'replace'}},
    {...base, more: true},
  ]
  for (const one of bad) t.false(Flow.safeParse(one).success, JSON.stringify(one))
  t.false(Flows.safeParse([]).success)
})

test('the default of a match is to ask for several records and to update one', t => {
  t.like(flow({match: {by: ['Name']}}).match, {onOne: 'update', onMany: 'ask'})
})

test('a snapshot numbers sources, modules and flows once, and keeps only used fields', t => {
  const flows = [flow(), flow({id: 'g', match: {by: ['Name']}, fields: [...base.fields, {field: 'Code', mode: 'column', source: 'code'}]})]
  const source = {no: 4, id: 's1', label: 'A file', fileKey: 'k', sha256: 'ff', reader: {}, columns: ['name', 'code'], rows: 3}
  const taken = takeSnapshot({connector: 'con', discovery: 'dis', seed: 'x', sources: [source], flows, modules: known.modules})
  t.deepEqual(
    taken.flows.map(({no, sourceNo, moduleNo}) => ({no, sourceNo, moduleNo})),
    [
      {no: 1, sourceNo: 4, moduleNo: 1},
      {no: 2, sourceNo: 4, moduleNo: 1},
    ],
  )
  t.deepEqual(
    taken.modules.map(({no, apiName, fields}) => ({no, apiName, fields: fields.map(({apiName, unique}) => [apiName, unique])})),
    [
      {
        no: 1,
        apiName: 'Things',
        fields: [
          ['Name', false],
          ['Code', true],
        ],
      },
    ],
  )
  t.deepEqual(Snapshot.parse(JSON.parse(JSON.stringify(taken))), taken, 'it comes back as it was')
})
