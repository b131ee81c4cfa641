import test from 'ava'
import {Flow, findIssues} from '../../../../shared/mapping/flows/flow.ts'
import {field, module} from '../../../discovered.ts'

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
