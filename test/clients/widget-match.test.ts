import test from 'ava'
import type {Group} from '../../api/clients/run-reasons.ts'
import type {Field, Module} from '../../api/clients/widget/imports/fields.ts'
import {addCompleted, isMatchDecided, placeFlow, withMatchFields} from '../../api/clients/widget/imports/flows.ts'
import type {Flow, Source} from '../../api/clients/widget/imports/import.ts'
import {bestModule, findNamed} from '../../api/clients/widget/imports/module-fit.ts'
import type {Proposal} from '../../api/clients/widget/imports/proposal.ts'
import {recommendMatch} from '../../api/clients/widget/imports/recommend-match.ts'
import {keyColumns} from '../../api/clients/widget/runs/key-columns.ts'
import {countTab, tabOf, tabOfGroup} from '../../api/clients/widget/runs/review-tabs.ts'

const field = (apiName: string, unique = false) => ({apiName, label: apiName, unique: unique ? {caseSensitive: false} : null}) as Field
const column = (name: string, source: string) => ({field: name, mode: 'column' as const, source})
const flow: Flow = {
  id: 'f',
  sourceId: 's',
  module: 'Leads',
  fields: [column('Last_Name', 'name'), column('Email', 'mail'), column('Code', 'code')],
}
const source = (empties: Record<string, number>) =>
  ({columns: ['name', 'mail', 'code'].map(name => ({name, empties: empties[name] ?? 0}))}) as unknown as Source
const module = (apiName: string, more: Partial<Module> = {}) => ({apiName, label: apiName, singular: null, match: null, ...more}) as Module

test('the match field is recommended by uniqueness and by the duplicate check of the CRM, filled columns first', t => {
  const recommended = (fields: Field[], empties = {}) => recommendMatch(flow, source(empties), fields)?.apiName ?? null
  t.is(recommended([field('Last_Name'), field('Email')]), 'Email')
  t.is(recommended([field('Email'), field('Code', true)]), 'Code')
  t.is(recommended([field('Email'), field('Code', true)], {code: 3}), 'Email', 'an empty cell finds no record')
  t.is(recommended([field('Last_Name')]), null)
  t.is(recommendMatch({...flow, fields: [{...column('Email', 'mail'), mode: 'static'}]}, source({}), [field('Email')]), null)
})

test('the choice about existing records is open until a person or the settings of the module make it', t => {
  t.false(isMatchDecided(flow, [module('Leads')]))
  t.true(isMatchDecided({...flow, match: null}, [module('Leads')]))
  t.true(isMatchDecided(flow, [module('Leads', {match: {by: ['Email']}})]))
  t.false('match' in withMatchFields({...flow, match: {by: ['Email'], onOne: 'skip', onMany: 'skip'}}, []))
})

test('a new flow is placed by the order of the modules', t => {
  const known = [module('Accounts', {order: 1}), module('Leads', {order: 2}), module('Deals', {order: 3}), module('Notes', {order: null})]
  const flows = ['Leads', 'Deals'].map(name => ({...flow, id: name, module: name}))
  const placed = (name: string) => placeFlow(flows, {...flow, id: 'new', module: name}, known).map(({id}) => id)
  t.deepEqual(placed('Accounts'), ['new', 'Leads', 'Deals'])
  t.deepEqual(placed('Leads'), ['Leads', 'new', 'Deals'])
  t.deepEqual(placed('Notes'), ['Leads', 'Deals', 'new'])
  t.deepEqual(placed('Unknown'), ['Leads', 'Deals', 'new'])
})

test('mappings that the API adds to a saved flow are added to an edit made meanwhile, unless the person removed or made them', t => {
  const sent = [flow]
  const edited = [
    {...flow, fields: [column('Last_Name', 'other')]},
    {...flow, id: 'g'},
  ]
  const completed = [{...flow, fields: [...flow.fields, column('Lead_Source', 'from')]}]
  const [first, second] = addCompleted(edited, {sent, completed})
  t.deepEqual(first!.fields, [column('Last_Name', 'other'), column('Lead_Source', 'from')])
  t.is(second, edited[1])
  const own = [{...flow, fields: [column('Lead_Source', 'mine')]}]
  t.deepEqual(addCompleted(own, {sent, completed}), own)
})

test('a module is suggested by the name of the file, else by the columns that fit it', t => {
  const modules = [module('Contacts', {singular: 'Contact'}), module('Leads', {singular: 'Lead'})]
  t.is(findNamed(modules, 'Leads Lisbon fair.csv')?.apiName, 'Leads')
  t.is(findNamed(modules, 'contact-list.csv')?.apiName, 'Contacts')
  t.is(findNamed(modules, 'misleads.csv'), undefined)
  const one = (column: string, ...found: [string, number][]): Proposal => {
    const [first, ...others] = found.map(([name, confidence]) => ({field: 'X', module: name, confidence, why: []}))
    return {column, by: 'local', note: null, ...(first ?? {field: null, module: null, confidence: 0, why: []}), candidates: others}
  }
  const both = [one('a', ['Leads', 0.9], ['Contacts', 0.8]), one('b', ['Leads', 0.9])]
  t.is(bestModule(['Contacts', 'Leads'], both), 'Leads')
  t.is(bestModule(['Contacts', 'Leads'], [...both, ...['c', 'd', 'e', 'f'].map(name => one(name))]), null, 'most columns fit nothing')
  t.is(bestModule(['Leads'], []), null)
})

test('a row is recognised by the columns of its match fields, then of names and e-mail addresses', t => {
  const matched: Flow = {...flow, match: {by: ['Code'], onOne: 'update', onMany: 'ask'}}
  t.deepEqual(keyColumns([matched], source({})), ['code', 'name', 'mail'])
  t.deepEqual(keyColumns([], source({})), ['name'])
})

test('each tab of a review counts its rows, and addresses of before open a tab', t => {
  const group = (action: string | null, rows: number, more: Partial<Group> = {}) =>
    ({phase: 'write', outcome: 'planned', code: null, action, rows, ...more}) as Group
  const groups = [
    group('create', 100),
    group('update', 20),
    group('skip', 7, {code: 'UNCHANGED'}),
    group('fail', 5),
    group(null, 9, {phase: 'lookup'}),
    group('patch', 106, {phase: 'patch'}),
    group('fail', 3, {phase: 'patch', outcome: 'failed', code: 'PARENT_FAILED'}),
    group('restore', 4),
  ]
  const counts = (['ready', 'errors', 'updates', 'unchanged', 'later'] as const).map(tab => countTab(tab, groups))
  t.deepEqual(counts, [124, 5, 20, 7, 109], 'a patch counts only in its own tab')
  t.deepEqual([groups[2]!, groups[3]!, groups[5]!, groups[6]!].map(tabOfGroup), ['skipped', 'errors', 'later', 'later'])
  t.is(tabOf(new URLSearchParams('tab=updates')), 'updates')
  t.is(tabOf(new URLSearchParams('action=update')), 'updates')
  t.is(tabOf(new URLSearchParams('code=INVALID_VALUE')), 'errors')
  t.is(tabOf(new URLSearchParams('tab=none')), 'all')
})
