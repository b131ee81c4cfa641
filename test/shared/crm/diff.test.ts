import test from 'ava'
import {diffModules} from '../../../shared/crm/diff.ts'
import {field, module} from '../../support/discovered.ts'

const options = (...names: string[]) => names.map(name => ({display: name, actual: name}))

test('a first discovery has no differences', t => {
  t.deepEqual(diffModules(null, [module('A', [])]), {since: null, added: [], removed: [], changed: []})
})

test('equal discoveries have no differences', t => {
  const modules = [module('A', [field('X', {unique: {caseSensitive: false}, lookup: {module: 'B'}})])]
  t.deepEqual(diffModules({id: 'dis_1', modules}, structuredClone(modules)), {since: 'dis_1', added: [], removed: [], changed: []})
})

test('added and removed modules are named once, without their fields', t => {
  const diff = diffModules({id: 'dis_1', modules: [module('Old', [field('X')]), module('Same', [])]}, [
    module('Same', []),
    module('New', [field('Y')]),
  ])
  t.deepEqual(diff, {since: 'dis_1', added: ['New'], removed: ['Old'], changed: []})
})

test('added, removed and changed fields are listed with their changes', t => {
  const old = module('A', [field('Gone'), field('Size'), field('Kind', {type: 'picklist', picklist: options('a', 'b')}), field('Key')])
  const now = module('A', [
    field('Size', {type: 'integer', length: 9}),
    field('Kind', {type: 'picklist', picklist: options('b', 'c')}),
    field('Key', {unique: {caseSensitive: true}, required: true}),
    field('Fresh'),
  ])
  t.deepEqual(diffModules({id: 'dis_1', modules: [old]}, [now]).changed, [
    {
      module: 'A',
      changes: [],
      fields: {
        added: ['Fresh'],
        removed: ['Gone'],
        changed: [
          {
            field: 'Size',
            changes: [
              {what: 'type', before: 'text', after: 'integer'},
              {what: 'length', before: 100, after: 9},
            ],
          },
          {field: 'Kind', changes: [{what: 'picklist', before: options('a'), after: options('c')}]},
          {
            field: 'Key',
            changes: [
              {what: 'required', before: false, after: true},
              {what: 'unique', before: null, after: {caseSensitive: true}},
            ],
          },
        ],
      },
    },
  ])
})

test('a renamed option is listed with both names, and a reordered list is no change', t => {
  const before = [module('A', [field('Kind', {picklist: options('a', 'b')})])]
  const renamed = [module('A', [field('Kind', {picklist: [{display: 'Alpha', actual: 'a'}, ...options('b')]})])]
  const [change] = diffModules({id: 'dis_1', modules: before}, renamed).changed[0]!.fields.changed
  t.deepEqual(change!.changes, [{what: 'picklist', before: options('a'), after: [{display: 'Alpha', actual: 'a'}]}])
  t.deepEqual(diffModules({id: 'dis_1', modules: before}, [module('A', [field('Kind', {picklist: options('b', 'a')})])]).changed, [])
})

test('changes of the module itself are listed', t => {
  const {changed} = diffModules({id: 'dis_1', modules: [module('A', [])]}, [module('A', [], {label: 'Things', creatable: false})])
  t.deepEqual(changed[0]!.changes, [
    {what: 'label', before: 'As', after: 'Things'},
    {what: 'creatable', before: true, after: false},
  ])
})

test('a field that loses its default and a recreated module are changes', t => {
  const old = module('A', [field('Stage', {required: true, hasDefault: true})])
  const now = module('A', [field('Stage', {required: true})], {id: '2', kind: 'default'})
  const [change] = diffModules({id: 'dis_1', modules: [old]}, [now]).changed
  t.deepEqual(change!.fields.changed, [{field: 'Stage', changes: [{what: 'hasDefault', before: true, after: null}]}])
  t.deepEqual(
    change!.changes.map(({what}) => what),
    ['id', 'kind'],
  )
})

test('a field that queries can no longer compare and an option no longer used are changes', t => {
  const old = module('A', [field('Key'), field('Kind', {type: 'picklist', picklist: options('a')})])
  const now = module('A', [
    field('Key', {unqueryable: 'encrypted'}),
    field('Kind', {type: 'picklist', picklist: [{display: 'a', actual: 'a', unused: true}]}),
  ])
  t.deepEqual(diffModules({id: 'dis_1', modules: [old]}, [now]).changed[0]?.fields.changed, [
    {field: 'Key', changes: [{what: 'unqueryable', before: null, after: 'encrypted'}]},
    {
      field: 'Kind',
      changes: [{what: 'picklist', before: options('a'), after: [{display: 'a', actual: 'a', unused: true}]}],
    },
  ] as never)
})
