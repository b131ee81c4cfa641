import test from 'ava'
import {findDrift} from '../../../../shared/mapping/templates/drift.ts'
import {Template} from '../../../../shared/mapping/templates/template.ts'
import {keepKnown} from '../../../../shared/mapping/templates/template-fields.ts'
import type {DiscoveredField, DiscoveredModule} from '../../../../sql/discoveries.ts'
import {field} from '../../../support/discovered.ts'
import {moduleOf} from '../../../support/registry.ts'
import {leadsTemplate} from '../../../support/templates.ts'

const link = {type: 'lookup', lookup: {module: 'Accounts'}}
const list = {
  type: 'picklist',
  picklist: [
    {display: 'New', actual: 'New'},
    {display: 'Old', actual: 'Old'},
  ],
}
const leads = {
  ...moduleOf('Leads', []),
  fields: [
    field('Last_Name'),
    field('Email', {unique: {caseSensitive: false}}),
    field('Status', list),
    field('Stage', list),
    field('Account', link),
  ],
}
const accounts = moduleOf('Accounts', ['Account_Name'])
const libraries = {acme: ['tidy', 'other']}
const mapping = (name: string, more: object) => ({field: name, empty: 'leave', ...more})

const template = Template.parse(
  leadsTemplate({
    sources: [
      {
        slot: 'leads',
        label: 'Leads',
        columns: ['surname', 'mail', 'state', 'full', 'unread'],
        cleaning: [{step: 'split', column: 'full', separator: ' ', into: ['first', 'last']}],
      },
    ],
    flows: [
      {
        id: 'f',
        sourceId: 'leads',
        module: 'Leads',
        match: {by: ['Email']},
        fields: [
          mapping('Last_Name', {mode: 'expression', transform: 'acme.tidy(row.surname + row.last)'}),
          mapping('Email', {mode: 'column', source: 'mail'}),
          mapping('Status', {mode: 'column', source: 'state', picklist: 'map', map: {n: 'New'}}),
          mapping('Stage', {mode: 'column', source: 'state', values: [{from: 'n', to: 'New'}], otherwise: 'fail'}),
          mapping('Account', {mode: 'search', source: 'surname', searchField: 'Account_Name'}),
        ],
      },
    ],
  }),
)
const modulesOf = (...modules: DiscoveredModule[]) => new Map(modules.map(module => [module.apiName, module]))
const usual = {sources: [], modules: modulesOf(leads, accounts), libraries}
const saved = {...template, known: keepKnown(template.flows, usual)}

type SeenDrift = Parameters<typeof findDrift>[1]
const drift = (seen: Partial<SeenDrift>) => findDrift(saved, {...usual, ...seen})
const files = (...columns: string[]) => ({sources: [{slot: 'leads', columns}]})
const told = (found: ReturnType<typeof findDrift>) =>
  found.map(({kind, column, field: name, stops}) => [kind, column ?? name ?? null, stops])
const withField = (name: string, more: Partial<DiscoveredField> | null) => {
  const fields = leads.fields.flatMap(one => (one.apiName === name ? (more ? [{...one, ...more}] : []) : [one]))
  return {modules: modulesOf({...leads, fields}, accounts)}
}

test('unchanged files and modules have no drift', t => {
  t.deepEqual(drift({}), [])
  t.deepEqual(drift(files('surname', 'mail', 'state', 'full', 'unread')), [])
})

const columns: [string, string[], unknown[]][] = [
  ['one that a mapping reads', ['surname', 'state', 'full', 'unread'], [['column_missing', 'mail', true]]],
  ['one that an expression reads', ['mail', 'state', 'full', 'unread'], [['column_missing', 'surname', true]]],
  ['one that cleaning reads', ['surname', 'mail', 'state', 'unread'], [['column_missing', 'full', true]]],
  ['one that nothing reads', ['surname', 'mail', 'state', 'full'], [['column_missing', 'unread', false]]],
  ['a new one', ['surname', 'mail', 'state', 'full', 'unread', 'x'], [['column_new', 'x', false]]],
  ['two that changed places', ['mail', 'surname', 'state', 'full', 'unread'], [['column_moved', 'surname', false]]],
]
for (const [what, names, expected] of columns) test(`drift of columns: ${what}`, t => t.deepEqual(told(drift(files(...names))), expected))

test('a missing column is reported with a column of similar name', t => {
  const [missing] = drift(files('surname', 'Mail ', 'state', 'full', 'unread'))
  t.regex(missing!.message, /no column "mail"; "Mail " may be the same/)
})

const fields: [string, Partial<SeenDrift>, unknown[]][] = [
  ['no module', {modules: modulesOf(accounts)}, [['module_gone', null, true]]],
  ['a module that cannot be written', {modules: modulesOf({...leads, creatable: false}, accounts)}, [['module_closed', null, true]]],
  ['no field', withField('Status', null), [['field_gone', 'Status', true]]],
  [
    'no field that is matched by',
    withField('Email', null),
    [
      ['field_gone', 'Email', true],
      ['field_gone', 'Email', true],
    ],
  ],
  ['a field that cannot be written', withField('Status', {readOnly: true}), [['field_closed', 'Status', true]]],
  [
    'another type, which takes no list',
    withField('Status', {type: 'text', picklist: []}),
    [
      ['field_changed', 'Status', true],
      ['field_changed', 'Status', true],
    ],
  ],
  ['another type', withField('Last_Name', {type: 'textarea'}), [['field_changed', 'Last_Name', true]]],
  ['shorter', withField('Last_Name', {length: 40}), [['field_changed', 'Last_Name', false]]],
  ['longer', withField('Last_Name', {length: 400}), []],
  [
    'a value that is not listed any more',
    withField('Status', {picklist: [{display: 'Old', actual: 'Old'}]}),
    [['value_gone', 'Status', true]],
  ],
  [
    'an option of a value map that is not listed any more',
    withField('Stage', {picklist: [{display: 'Old', actual: 'Old'}]}),
    [['value_gone', 'Stage', true]],
  ],
  [
    'another type, which does not take the targets of a value map',
    withField('Stage', {type: 'integer', picklist: []}),
    [
      ['field_changed', 'Stage', true],
      ['field_changed', 'Stage', true],
    ],
  ],
  ['not unique any more', withField('Email', {unique: null}), [['match_not_unique', 'Email', true]]],
  [
    'a link to another module',
    withField('Account', {lookup: {module: 'Leads'}}),
    [
      ['field_changed', 'Account', true],
      ['field_changed', 'Account', true],
    ],
  ],
  ['no field that is searched', {modules: modulesOf(leads, moduleOf('Accounts', ['Phone']))}, [['field_changed', 'Account', true]]],
  [
    'a field that is required now',
    {modules: modulesOf({...leads, fields: [...leads.fields, field('Must', {required: true})]}, accounts)},
    [['required_unmapped', null, true]],
  ],
  ['no library', {libraries: {}}, [['library_gone', 'Last_Name', true]]],
  ['no such function', {libraries: {acme: ['other']}}, [['library_gone', 'Last_Name', true]]],
]
for (const [what, seen, expected] of fields)
  test(`drift of the CRM and the libraries: ${what}`, t => t.deepEqual(told(drift(seen)), expected))

test('without a discovery only files and expressions are checked, and without libraries no calls', t => {
  t.deepEqual(drift({modules: null}), [])
  t.deepEqual(told(drift({modules: null, libraries: {}})), [['library_gone', 'Last_Name', true]])
  t.deepEqual(told(drift({modules: null, libraries: {}, ...files('surname')})).length, 5)
  t.deepEqual(findDrift(saved, {sources: [], modules: usual.modules}), [])
})

const cell = (name: string, source: string) => mapping(name, {mode: 'column', source})
const sheets = Template.parse(
  leadsTemplate({
    sources: [
      {slot: 'leads', label: 'Leads', columns: ['surname', 'ref']},
      {slot: 'lines', label: 'Lines', columns: ['lead', 'what', 'kind'], cleaning: [{step: 'strikeWhere', expression: 'row.kind === "x"'}]},
    ],
    flows: [
      {id: 'f', sourceId: 'leads', module: 'Leads', fields: [cell('Last_Name', 'surname')]},
      {
        id: 'g',
        sourceId: 'lines',
        module: 'Lines',
        fields: [cell('What', 'what')],
        subform: {field: 'Lines', child: 'Lines', parentFlow: 'f', key: {parentColumn: 'ref', childColumn: 'lead'}},
      },
    ],
  }),
)
const rowsOf = {type: 'subform', subform: {module: 'Lines'}} as Partial<DiscoveredField>
const withRows = (...fields: DiscoveredField[]) => modulesOf(moduleOf('Lines', ['What']), {...leads, fields: [...leads.fields, ...fields]})
const sheetDrift = (seen: Partial<SeenDrift>) => told(findDrift(sheets, {sources: [], modules: withRows(field('Lines', rowsOf)), ...seen}))

test('columns that link subform rows to parents or strike rows are checked', t => {
  t.deepEqual(sheetDrift({}), [])
  t.deepEqual(sheetDrift({sources: [{slot: 'leads', columns: ['surname']}]}), [['column_missing', 'ref', true]])
  t.deepEqual(sheetDrift({sources: [{slot: 'lines', columns: ['what']}]}), [
    ['column_missing', 'lead', true],
    ['column_missing', 'kind', true],
  ])
})

test('a subform field must belong to the module of the parents', t => {
  t.deepEqual(sheetDrift({modules: withRows()}), [['field_gone', null, true]])
  t.deepEqual(sheetDrift({modules: withRows(field('Lines'))}), [['field_changed', null, true]])
})

test('subform rows without the flow of their parents make no valid template', t => {
  const {error} = Template.safeParse({...sheets, flows: sheets.flows.slice(1)})
  t.deepEqual(
    error?.issues.map(({path}) => path.join('.')),
    ['flows.0.subform.parentFlow'],
  )
})

test('fixed times without an offset are in the time zone of the org', t => {
  const dated = {...leads, fields: [...leads.fields, field('Seen', {type: 'datetime'})]}
  const fields = [...template.flows[0]!.fields, mapping('Seen', {mode: 'static', staticValue: '2026-03-04T10:00:00'})]
  const modules = modulesOf(dated, accounts)
  const driftIn = (settings: {timezone: string}) =>
    findDrift({...template, flows: [{...template.flows[0], fields}]}, {...usual, modules, settings}).map(({field}) => field)
  t.deepEqual([driftIn({timezone: 'UTC'}), driftIn({timezone: 'Europe/Berlin'})], [['Seen'], []])
})
