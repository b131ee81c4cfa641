import test from 'ava'
import {Flow, findIssues} from '../../../../shared/mapping/flows/flow.ts'
import {field, module} from '../../../support/discovered.ts'

const picklist = [{display: 'Fresh', actual: 'New'}]
const things = module('Things', [
  field('Name'),
  field('Status', {type: 'picklist', picklist}),
  field('Made', {type: 'date'}),
  field('At', {type: 'datetime'}),
  field('Parent', {type: 'lookup', lookup: {module: 'Parents'}}),
  field('Orphan', {type: 'lookup', lookup: {module: 'Nothing'}}),
  field('Nameless', {type: 'lookup', lookup: {module: 'Nameless'}}),
  field('Owner', {type: 'ownerlookup'}),
  field('Total', {type: 'formula'}),
  field('Number', {type: 'autonumber'}),
  field('Sum', {type: 'rollup_summary'}),
  field('Count', {type: 'integer'}),
])
const parents = module('Parents', [field('Name'), field('Notes', {type: 'textarea'})])
const known = {
  sources: [{id: 's', columns: ['name', 'last name']}],
  modules: new Map([things, parents, module('Nameless', [field('Name')], {namingField: null})].map(one => [one.apiName, one])),
  libraries: {prices: ['gross']},
}

const issuesOf = (more: object) => findIssues([Flow.parse({id: 'f', sourceId: 's', module: 'Things', ...more})], known)
const name = {field: 'Name', mode: 'column', source: 'name'}
const filling = (mapping: object) => issuesOf({fields: [name, mapping]})

const fits: Record<string, object> = {
  'an expression over the row, the context, helpers and a library': {
    field: 'Count',
    mode: 'expression',
    transform: 'prices.gross(row["last name"].length) + context.rate + helpers.number(row.name)',
  },
  'a transform over its own column': {field: 'Count', mode: 'column', source: 'name', transform: 'value.length'},
  'a search by the naming field': {field: 'Parent', mode: 'search', source: 'name'},
  'a search by an expression alone': {
    field: 'Parent',
    mode: 'search',
    searchExpression: 'row.name + row["last name"]',
    searchMethod: 'word',
  },
  'a user by e-mail': {field: 'Owner', mode: 'static', staticValue: 'ana@example.org'},
  'a user searched by name': {field: 'Owner', mode: 'search', source: 'name', searchField: 'full_name'},
  'a format': {field: 'Made', mode: 'column', source: 'name', format: 'dd/MM/yyyy'},
  'a zone': {field: 'At', mode: 'column', source: 'name', zone: 'Europe/Berlin'},
  'words for a picklist': {field: 'Status', mode: 'column', source: 'name', picklist: 'map', map: {neu: 'Fresh', offen: 'New'}},
  'a value map of a number': {
    field: 'Count',
    mode: 'column',
    source: 'name',
    values: [
      {from: 'many', to: '100'},
      {from: '-', to: ''},
    ],
    otherwise: 'fail',
  },
  'a value map of a picklist': {
    field: 'Status',
    mode: 'column',
    source: 'name',
    values: [
      {from: 'neu', to: 'Fresh'},
      {from: 'x', to: '\\N'},
    ],
    otherwise: 'empty',
  },
  'a value map of a date in the format of the column': {
    field: 'Made',
    mode: 'column',
    source: 'name',
    format: 'dd/MM/yyyy',
    values: [{from: 'start', to: '31/01/2026'}],
  },
  'a value map of search texts': {field: 'Parent', mode: 'search', source: 'name', values: [{from: 'HQ', to: 'Head office'}]},
  'a value map of users': {field: 'Owner', mode: 'column', source: 'name', values: [{from: 'AR', to: 'ana@example.org'}]},
  'a value map that passes unlisted values': {
    field: 'Status',
    mode: 'column',
    source: 'name',
    picklist: 'pass',
    values: [{from: 'neu', to: 'Neu'}],
  },
  'a computed field that is skipped': {field: 'Total', mode: 'skip', source: 'nothing', transform: '}'},
}
for (const [what, mapping] of Object.entries(fits)) test(`${what} has no issue`, t => t.deepEqual(filling(mapping), []))

const wrong: Record<string, [mapping: object, path: string, place?: [number, number]]> = {
  'an expression mapping without an expression': [{field: 'Count', mode: 'expression'}, 'transform'],
  'an expression that does not parse': [{field: 'Count', mode: 'expression', transform: '1 +\n  * 2'}, 'transform', [2, 3]],
  'an unknown column': [{field: 'Count', mode: 'expression', transform: 'row.name +\nrow.nmae'}, 'transform', [2, 5]],
  'an unknown column in brackets': [{field: 'Count', mode: 'expression', transform: 'row["first"]'}, 'transform', [1, 5]],
  'an unknown library': [{field: 'Count', mode: 'expression', transform: 'rates.net(1)'}, 'transform', [1, 1]],
  'an unknown function of a library': [{field: 'Count', mode: 'expression', transform: 'prices.net(1)'}, 'transform', [1, 8]],
  '`value` without a column': [{field: 'Count', mode: 'expression', transform: 'value.length'}, 'transform'],
  'a transform of an unknown column': [{field: 'Count', mode: 'column', source: 'nmae', transform: 'value'}, 'source'],
  'a search in a field that is no lookup': [{field: 'Count', mode: 'search', source: 'name'}, 'mode'],
  'a search without a value': [{field: 'Parent', mode: 'search'}, 'source'],
  'a search in a module that was not discovered': [{field: 'Orphan', mode: 'search', source: 'name'}, 'field'],
  'a search in a module without a naming field': [{field: 'Nameless', mode: 'search', source: 'name'}, 'searchField'],
  'an unknown search field': [{field: 'Parent', mode: 'search', source: 'name', searchField: 'Code'}, 'searchField'],
  'a search field that cannot be searched': [{field: 'Parent', mode: 'search', source: 'name', searchField: 'Notes'}, 'searchField'],
  'a search expression that does not parse': [{field: 'Parent', mode: 'search', searchExpression: 'row.'}, 'searchExpression', [1, 5]],
  'a user searched by an unknown field': [{field: 'Owner', mode: 'search', source: 'name', searchField: 'Name'}, 'searchField'],
  'a user searched by word': [{field: 'Owner', mode: 'search', source: 'name', searchMethod: 'word'}, 'searchMethod'],
  'a question about several users': [{field: 'Owner', mode: 'search', source: 'name', onMany: 'ask'}, 'onMany'],
  'a static value the field does not take': [{field: 'Count', mode: 'static', staticValue: 'many'}, 'staticValue'],
  'an invalid format': [{field: 'Made', mode: 'column', source: 'name', format: 'DD.MM.QQQQ'}, 'format'],
  'a date format for a field that is no date': [{field: 'Count', mode: 'column', source: 'name', format: 'dd.MM.yyyy'}, 'format'],
  'an unknown time zone': [{field: 'At', mode: 'column', source: 'name', zone: 'Berlin'}, 'zone'],
  'a time zone for a date': [{field: 'Made', mode: 'column', source: 'name', zone: 'Europe/Berlin'}, 'zone'],
  'a picklist rule for a field without a picklist': [{field: 'Count', mode: 'column', source: 'name', picklist: 'pass'}, 'picklist'],
  'a missing map of words': [{field: 'Status', mode: 'column', source: 'name', picklist: 'map'}, 'map'],
  'an unused map of words': [{field: 'Status', mode: 'column', source: 'name', map: {neu: 'New'}}, 'map'],
  'a word mapped to an unknown option': [{field: 'Status', mode: 'column', source: 'name', picklist: 'map', map: {neu: 'Neu'}}, 'map.neu'],
  'a target that is not an option': [{field: 'Status', mode: 'column', source: 'name', values: [{from: 'neu', to: 'Neu'}]}, 'values.0.to'],
  'a target that is no number': [
    {
      field: 'Count',
      mode: 'column',
      source: 'name',
      values: [
        {from: 'a', to: '1'},
        {from: 'b', to: 'many'},
      ],
    },
    'values.1.to',
  ],
  'a target that is no record id': [
    {field: 'Parent', mode: 'column', source: 'name', values: [{from: 'HQ', to: 'Head office'}]},
    'values.0.to',
  ],
  'a value with two entries': [
    {
      field: 'Count',
      mode: 'column',
      source: 'name',
      values: [
        {from: 'A', to: '1'},
        {from: ' a', to: '1'},
      ],
    },
    'values.1.from',
  ],
  'an entry for the clear token': [{field: 'Count', mode: 'column', source: 'name', values: [{from: '\\N', to: '1'}]}, 'values.0.from'],
  'a rule for other values without a map': [{field: 'Count', mode: 'column', source: 'name', otherwise: 'fail'}, 'otherwise'],
  'a value map of a fixed value': [{field: 'Count', mode: 'static', staticValue: '1', values: [{from: 'a', to: '1'}]}, 'values'],
  'two maps': [{field: 'Status', mode: 'column', source: 'name', picklist: 'map', map: {neu: 'New'}, values: []}, 'values'],
  'a formula': [{field: 'Total', mode: 'column', source: 'name'}, 'field'],
  'an automatic number': [{field: 'Number', mode: 'static', staticValue: '1'}, 'field'],
  'a rollup': [{field: 'Sum', mode: 'expression', transform: '1'}, 'field'],
}
for (const [what, [mapping, path, place]] of Object.entries(wrong)) {
  test(`${what} is one issue, at ${path}`, t => {
    const [found, ...more] = filling(mapping)
    t.deepEqual(more, [])
    t.is(found!.path.join('.'), `0.fields.1.${path}`)
    t.deepEqual(found!.line === undefined ? undefined : [found!.line, found!.column], place)
  })
}

test('the time zone of the org is that of fixed times and targets without an offset', t => {
  const at = {field: 'At', mode: 'static', staticValue: '2026-03-04T10:00:00'}
  const target = {field: 'At', mode: 'column', source: 'name', values: [{from: 'start', to: '2026-03-04 10:00'}]}
  const skipped = {field: 'At', mode: 'static', staticValue: '2026-03-29T02:30:00'}
  const pathsIn = (mapping: object, timezone: string) => {
    const flow = Flow.parse({id: 'f', sourceId: 's', module: 'Things', fields: [name, mapping]})
    return findIssues([flow], {...known, settings: {timezone}}).map(({path}) => path.slice(3).join('.'))
  }
  t.deepEqual([pathsIn(at, 'UTC'), pathsIn(target, 'UTC')], [['staticValue'], ['values.0.to']], 'the default names no zone')
  t.deepEqual([pathsIn(at, 'Europe/Berlin'), pathsIn(target, 'Europe/Berlin')], [[], []])
  t.deepEqual([pathsIn(skipped, 'Europe/Berlin'), pathsIn({...skipped, zone: 'America/New_York'}, 'Europe/Berlin')], [['staticValue'], []])
})

test('a filter and a guard are checked like expressions, and cannot use value', t => {
  t.deepEqual(issuesOf({fields: [name], filter: 'row.name', guard: '!row["last name"]'}), [])
  const found = issuesOf({fields: [name], filter: 'row.Name', guard: 'value'})
  t.deepEqual(
    found.map(({path, line, column}) => [path.join('.'), line, column]),
    [
      ['0.filter', 1, 5],
      ['0.guard', undefined, undefined],
    ],
  )
})
