import test from 'ava'
import {usualSettings} from '../../../../shared/configuration/settings.ts'
import {Flow} from '../../../../shared/mapping/flows/flow.ts'
import {addModuleDefaults} from '../../../../shared/mapping/flows/module-defaults.ts'
import {field, module} from '../../../support/discovered.ts'

const fields = [
  field('Name'),
  field('Code', {required: true}),
  field('Notes'),
  field('Owner', {type: 'ownerlookup'}),
  field('At', {type: 'datetime'}),
]
const things = module('Things', fields, {assignmentRules: [{id: '41', name: 'By region'}]})
const facts = {sources: [{id: 's', columns: ['a']}], modules: new Map([['Things', things]]), libraries: {}, settings: usualSettings}

/** Returns the fields that the defaults add to a flow. */
const addedBy = (defaults: object[], more: object = {}, known: object = {}) => {
  const mapped = {field: 'Name', mode: 'column', source: 'a'}
  const flow = Flow.parse({id: 'f', sourceId: 's', module: 'Things', fields: [mapped], ...more})
  const settings = {match: null, excluded: new Set<string>(), defaults: defaults as never}
  const [filled] = addModuleDefaults([flow], [], () => settings, {...facts, ...known})
  return filled!.fields.slice(flow.fields.length).map(({field}) => field)
}
const fixed = (name: string, staticValue: string, more: object = {}) => ({field: name, mode: 'static', staticValue, ...more})
const patch = {when: ['created'], overwrite: 'always'}

test('a default mapping may be a patch, unless the flow cannot patch its field', t => {
  t.deepEqual(addedBy([fixed('Notes', 'x', {patch}), fixed('Code', 'x', {patch})]), ['Notes'])
  t.deepEqual(addedBy([fixed('Notes', 'x', {patch})], {match: {by: ['Notes']}}), [])
  t.deepEqual(addedBy([fixed('Notes', 'x', {patch: {when: ['error'], overwrite: 'always'}})]), [])
})

test('the first default mapping of a field counts, also if it skips the field', t => {
  const notes = fixed('Notes', 'x')
  t.deepEqual(addedBy([notes, {field: 'Notes', mode: 'skip'}]), ['Notes'])
  t.deepEqual(addedBy([{field: 'Notes', mode: 'skip'}, notes]), [])
  t.deepEqual(addedBy([{field: 'Notes', skip: true, patch: {when: ['error'], overwrite: 'always'}}, notes]), [])
})

test('the default owner is left out of a flow with an assignment rule', t => {
  const defaults = [fixed('Owner', 'ana@example.org'), fixed('Notes', 'x')]
  t.deepEqual(addedBy(defaults), ['Owner', 'Notes'])
  t.deepEqual(addedBy(defaults, {assignmentRule: '41'}), ['Notes'])
})

test('a fixed default time without an offset needs the time zone of the org', t => {
  const defaults = [fixed('At', '2026-03-04T10:00:00')]
  t.deepEqual(addedBy(defaults), [])
  t.deepEqual(addedBy(defaults, {}, {settings: {...usualSettings, timezone: 'Europe/Berlin'}}), ['At'])
})
