import test from 'ava'
import fc from 'fast-check'
import {diffRegistry} from '../../../shared/configuration/diff.ts'
import {findIssues} from '../../../shared/configuration/document.ts'
import {anyRegistry, replay} from '../../support/registry.ts'

const registry = anyRegistry(['con_a', 'con_b'])

test('replaying the changes between two registries gives the second one exactly', t => {
  fc.assert(
    fc.property(registry, registry, (before, after) => {
      t.deepEqual(replay(before, diffRegistry(before, after)), after)
    }),
    {numRuns: 500},
  )
})

test('equal registries have no changes, regardless of the order of keys', t => {
  fc.assert(
    fc.property(registry, one => {
      const turned = Object.fromEntries(Object.entries(one).toReversed()) as typeof one
      t.deepEqual(diffRegistry(one, {...turned, version: 7}), [])
    }),
  )
})

test('no change has equal values before and after', t => {
  fc.assert(
    fc.property(registry, registry, (before, after) => {
      for (const change of diffRegistry(before, after)) t.notDeepEqual(change.before, change.after, change.subject)
    }),
  )
})

test('every generated registry is valid', t => {
  fc.assert(fc.property(registry, one => void t.deepEqual(findIssues(one), [])))
})

const empty = {
  settings: {dateFormat: 'yyyy-MM-dd', timezone: 'UTC', expressionContext: {}, aiSamplePolicy: 'masked' as const},
  writing: {},
  modules: [],
  fields: {},
}
const leads = {
  key: 'leads',
  apiName: 'Leads',
  connectorId: 'con_a',
  enabled: true,
  singular: null,
  order: 1,
  uniqueFields: [],
  match: null,
  exclusions: [],
  seedMappings: [],
}

test('each changed value has one entry with its path and its connection', t => {
  const before = {...empty, modules: [leads], fields: {leads: [{apiName: 'Email', description: 'Old', pii: true}]}}
  const after = {
    ...empty,
    settings: {...empty.settings, timezone: 'Europe/Berlin'},
    writing: {con_a: {paused: true as const}},
    modules: [{...leads, enabled: false}],
    fields: {leads: [{apiName: 'Email', description: 'New'}]},
  }
  const own = {connectorId: 'con_a'}
  t.deepEqual(diffRegistry(before, after), [
    {page: 'general', subject: 'settings.timezone', target: null, connectorId: null, before: 'UTC', after: 'Europe/Berlin'},
    {page: 'writing', subject: 'writing.paused', target: null, ...own, before: false, after: true},
    {page: 'modules', subject: 'module.enabled', target: 'leads', ...own, before: true, after: false},
    {page: 'fields', subject: 'field.description', target: 'leads.Email', ...own, before: 'Old', after: 'New'},
    {page: 'fields', subject: 'field.excludeFromAi', target: 'leads.Email', ...own, before: true, after: null},
  ])
})

test('a key that moves to another module is a removed and an added module', t => {
  const changes = diffRegistry({...empty, modules: [leads]}, {...empty, modules: [{...leads, connectorId: 'con_b'}]})
  t.deepEqual(
    changes.map(({subject, connectorId}) => [subject, connectorId]),
    [
      ['module.removed', 'con_a'],
      ['module.added', 'con_b'],
      ['module.enabled', 'con_b'],
    ],
  )
})
