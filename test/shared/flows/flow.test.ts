import test from 'ava'
import {Flow, Flows, findIssues} from '../../../shared/flows/flow.ts'
import {Snapshot, takeSnapshot} from '../../../shared/flows/snapshot.ts'
import {field, module} from '../../discovered.ts'

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

test('flows that fit have no issue', t => {
  t.deepEqual(issuesOf(flow(), flow({id: 'g', match: {by: ['Name']}})), [])
  t.deepEqual(issuesOf(withField({field: 'Code', mode: 'skip'})), [])
})

const wrong: Record<string, [Flow, string]> = {
  'a file the import has not': [flow({sourceId: 's2'}), '0.sourceId'],
  'a module the connection has not': [flow({module: 'Nothing'}), '0.module'],
  'a module that is only written in its parent': [flow({module: 'Lines'}), '0.module'],
  'a field mapped twice': [withField({field: 'Name', mode: 'static', staticValue: 'x'}), '0.fields.1.field'],
  'a field the module has not': [withField({field: 'Colour', mode: 'column', source: 'code'}), '0.fields.1.field'],
  'a field that is read only': [withField({field: 'Made_At', mode: 'column', source: 'code'}), '0.fields.1.field'],
  'a field that no create may set': [withField({field: 'Number', mode: 'column', source: 'code'}), '0.fields.1.field'],
  'a subform': [withField({field: 'Lines', mode: 'column', source: 'code'}), '0.fields.1.field'],
  'several lookups at once': [withField({field: 'Tags', mode: 'column', source: 'code'}), '0.fields.1.field'],
  'a static mapping without a value': [withField({field: 'Code', mode: 'static'}), '0.fields.1.staticValue'],
  'a column mapping without a column': [withField({field: 'Code', mode: 'column'}), '0.fields.1.source'],
  'a column the file has not': [withField({field: 'Code', mode: 'column', source: 'Code'}), '0.fields.1.source'],
  'a match by a field the module has not': [flow({match: {by: ['Name', 'Colour']}}), '0.match.by.1'],
  'a match by a field nothing fills': [flow({match: {by: ['Code']}}), '0.match.by.0'],
  'a match by a field that is skipped': [
    flow({match: {by: ['Code']}, fields: [...base.fields, {field: 'Code', mode: 'skip'}]}),
    '0.match.by.0',
  ],
  'a required field nothing fills': [flow({fields: [{field: 'Code', mode: 'column', source: 'code'}]}), '0.fields'],
  'a required field that is skipped': [flow({fields: [{field: 'Name', mode: 'skip'}]}), '0.fields'],
}

for (const [what, [one, path]] of Object.entries(wrong)) {
  test(`${what} is one issue, at ${path}`, t => {
    t.deepEqual(
      issuesOf(one).map(([at]) => at),
      [path],
    )
  })
}

test('every issue of every flow is told, under its own place', t => {
  const found = issuesOf(flow(), flow({sourceId: 's2'}), withField({field: 'Colour', mode: 'column', source: 'nothing'}))
  t.deepEqual(
    found.map(([at]) => at),
    ['1.id', '2.id', '1.sourceId', '2.fields.1.field'],
  )
})

test('what a flow cannot be is refused before anything is looked up', t => {
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

test('a match asks when several records match and updates when one does, unless told otherwise', t => {
  t.like(flow({match: {by: ['Name']}}).match, {onOne: 'update', onMany: 'ask'})
})

test('a snapshot numbers sources, modules and flows once, and keeps the fields that are used', t => {
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
