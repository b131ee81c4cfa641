import test from 'ava'
import {diffModules} from '../../../shared/crm/diff.ts'
import {field, module} from '../../discovered.ts'

const options = (...names: string[]) => names.map(name => ({display: name, actual: name}))

test('a first discovery has nothing to differ from', t => {
  t.deepEqual(diffModules(null, [module('A', [])]), {since: null, added: [], removed: [], changed: []})
})

test('nothing changed is told as nothing', t => {
  const modules = [module('A', [field('X', {unique: {caseSensitive: false}, lookup: {module: 'B'}})])]
  t.deepEqual(diffModules({id: 'dis_1', modules}, structuredClone(modules)), {since: 'dis_1', added: [], removed: [], changed: []})
})

test('modules that came and went are named once, without their fields', t => {
  const diff = diffModules({id: 'dis_1', modules: [module('Old', [field('X')]), module('Same', [])]}, [
    module('Same', []),
    module('New', [field('Y')]),
  ])
  t.deepEqual(diff, {since: 'dis_1', added: ['New'], removed: ['Old'], changed: []})
})

test('fields that came, went and changed, with what changed about them', t => {
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

test('a renamed option is told with both names, a reordered list is no change', t => {
  const before = [module('A', [field('Kind', {picklist: options('a', 'b')})])]
  const renamed = [module('A', [field('Kind', {picklist: [{display: 'Alpha', actual: 'a'}, ...options('b')]})])]
  const [change] = diffModules({id: 'dis_1', modules: before}, renamed).changed[0]!.fields.changed
  t.deepEqual(change!.changes, [{what: 'picklist', before: options('a'), after: [{display: 'Alpha', actual: 'a'}]}])
  t.deepEqual(diffModules({id: 'dis_1', modules: before}, [module('A', [field('Kind', {picklist: options('b', 'a')})])]).changed, [])
})

test('a change of the module itself is told too', t => {
  const {changed} = diffModules({id: 'dis_1', modules: [module('A', [])]}, [module('A', [], {label: 'Things', creatable: false})])
  t.deepEqual(changed[0]!.changes, [
    {what: 'label', before: 'As', after: 'Things'},
    {what: 'creatable', before: true, after: false},
  ])
})
