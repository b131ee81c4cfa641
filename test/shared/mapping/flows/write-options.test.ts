import test from 'ava'
import {addFlowDefaults, Flow, findIssues} from '../../../../shared/mapping/flows/flow.ts'
import {formatOf, Snapshot, takeSnapshot} from '../../../../shared/mapping/flows/snapshot.ts'
import {optionWarnings} from '../../../../shared/mapping/flows/write-options.ts'
import {field, module} from '../../../support/discovered.ts'

const layouts = [
  {id: '31', name: 'Standard', fields: ['Name', 'City', 'Code'], required: []},
  {id: '32', name: 'Short', fields: ['Name', 'Code', 'Link'], required: ['Code', 'Made']},
]
const fields = [
  field('Name'),
  field('City'),
  field('Code', {unique: {caseSensitive: false}}),
  field('Owner', {type: 'ownerlookup'}),
  field('Link'),
  field('Made', {type: 'autonumber', creatable: false}),
]
const things = module('Things', fields, {layouts, assignmentRules: [{id: '41', name: 'By region'}]})
const plain = module('Plain', [field('Name')], {hasWriteOptions: false})
const unread = module('Unread', [field('Name')])
const modules = new Map([things, plain, unread].map(one => [one.apiName, one]))
const known = {sources: [{id: 's', columns: ['a']}], modules}

const column = (name: string) => ({field: name, mode: 'column', source: 'a'})
const flowOf = (more: object) => Flow.parse({id: 'f', sourceId: 's', module: 'Things', fields: [column('Name'), column('Code')], ...more})
const issuesOf = (more: object) => findIssues([flowOf(more)], known).map(({path, message}) => [path.join('.'), message])
const pathsOf = (more: object) => issuesOf(more).map(([path]) => path)

test('options that the module has are accepted', t => {
  t.deepEqual(issuesOf({automations: true, layout: '32', assignmentRule: '41', tags: ['Fair', 'May']}), [])
  t.deepEqual(issuesOf({automations: false, layout: null, assignmentRule: null, tags: []}), [])
})

test('a layout or a rule that the module lacks is an issue that lists the known ones', t => {
  t.deepEqual(issuesOf({layout: '9', assignmentRule: '8'}), [
    ['0.layout', 'Things has no active layout 9. Choose one of Standard (31), Short (32)'],
    ['0.assignmentRule', 'Things has no assignment rule 8. Choose one of By region (41)'],
  ])
  const [[path, message] = []] = issuesOf({module: 'Unread', fields: [column('Name')], assignmentRule: '41'})
  t.is(path, '0.assignmentRule')
  t.regex(message!, /could not be read. Connect the CRM again/)
})

test('a rule beside a mapping of the owner is an issue', t => {
  t.deepEqual(pathsOf({assignmentRule: '41', fields: [column('Name'), {field: 'Owner', mode: 'static', staticValue: 'a@b.c'}]}), [
    '0.assignmentRule',
  ])
})

test('a destination without write options refuses each of them', t => {
  const options = {automations: true, layout: '31', assignmentRule: '41', tags: ['x']}
  t.deepEqual(pathsOf({module: 'Plain', fields: [column('Name')], ...options}), ['0.automations', '0.layout', '0.assignmentRule', '0.tags'])
})

test('a layout must have the match fields, and its required fields must be mapped', t => {
  t.deepEqual(pathsOf({layout: '32', match: {by: ['City']}, fields: [column('Name'), column('City'), column('Code')]}), ['0.match.by.0'])
  t.deepEqual(issuesOf({layout: '32', fields: [column('Name')]}), [
    ['0.fields', 'The layout Short requires Code. Map it, or choose another layout'],
  ])
})

test('mapped fields outside the layout are warnings, and a run leaves them out', t => {
  const flows = [flowOf({layout: '32', fields: [column('Name'), column('City'), column('Code')]})]
  t.deepEqual(
    optionWarnings(flows, modules).map(({path}) => path),
    [[0, 'fields', 1, 'field']],
  )
  t.deepEqual(optionWarnings([flowOf({layout: '31'})], modules), [])
})

test('a patched field outside the layout is a warning, unless it also goes to records of unknown layout', t => {
  const warningsOf = (when?: string[]) =>
    optionWarnings([flowOf({layout: '32', fields: [column('Code'), {...column('City'), patch: {when}}]})], modules).length
  t.deepEqual([warningsOf(), warningsOf(['created', 'exists'])], [1, 0])
})

test('tags have at most 25 characters, and each is named once', t => {
  const parse = (tags: string[]) => Flow.safeParse({...flowOf({}), tags}).success
  t.deepEqual([['x'.repeat(25)], ['x'.repeat(26)], ['Fair', 'fair'], [' ']].map(parse), [true, false, false, false])
})

test('new flows skip unchanged records, or write them if automations run', t => {
  const match = {by: ['Code']}
  const unchangedOf = (more: object) => addFlowDefaults([flowOf({match, ...more})], new Map())[0]!.match!.unchanged
  t.is(unchangedOf({}), 'skip')
  t.is(unchangedOf({automations: true}), 'write')
  t.is(unchangedOf({automations: true, match: {...match, unchanged: 'skip'}}), 'skip')
})

test('a snapshot with write options has a format that earlier builds refuse', t => {
  const source = {no: 1, id: 's', label: 's', fileKey: 'k', sha256: '0', reader: {}, columns: ['a'], rows: 1}
  const take = (more: object) =>
    Snapshot.parse(takeSnapshot({connector: 'con', discovery: 'dis', sources: [source], flows: [flowOf(more)], modules, seed: '0'}))
  t.deepEqual(
    [{}, {automations: true}, {tags: ['x']}, {layout: '32'}].map(more => formatOf(take(more))),
    [4, 6, 6, 6],
  )
  const fields = [column('Name'), column('City'), column('Code')]
  t.deepEqual(take({layout: '32', fields}).flows[0]!.layout, {name: 'Short', drops: ['City'], requires: ['Code']})
})
