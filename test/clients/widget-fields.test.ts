import test from 'ava'
import {choicesOf, chosenOf, type Field, isFillable} from '../../api/clients/widget/imports/fields.ts'
import {findMissingSubforms} from '../../api/clients/widget/imports/flows.ts'
import type {Flow} from '../../api/clients/widget/imports/import.ts'
import {isFillable as isFillableHere} from '../../shared/mapping/flows/value-issues.ts'
import {field} from '../support/discovered.ts'

/** The field types in the vendor's SDK, `lib/utils/util/utility.js`, and one unknown type. */
const types = [
  'text',
  'textarea',
  'richtextarea',
  'phone',
  'email',
  'website',
  'picklist',
  'multiselectpicklist',
  'date',
  'datetime',
  'boolean',
  'integer',
  'bigint',
  'long',
  'double',
  'percent',
  'currency',
  'lookup',
  'ownerlookup',
  'userlookup',
  'formula',
  'autonumber',
  'subform',
  'multiselectlookup',
  'multiuserlookup',
  'fileupload',
  'imageupload',
  'profileimage',
  'rollup_summary',
  'RRULE',
  'ALARM',
  'multireminder',
  'consent_lookup',
  'multi_module_lookup',
  'linetax',
  'module',
  'layout',
  'time_range',
  'address',
  'not_a_type',
]
const shapes = [null, 'string', 'jsonarray', 'jsonobject']
const every = ['F', 'Tag'].flatMap(name =>
  types.flatMap(type =>
    shapes.flatMap(jsonType => [null, {module: 'Accounts'}, {module: 'se_module'}].map(lookup => field(name, {type, jsonType, lookup}))),
  ),
)

test('the widget offers the fields that the API lets a mapping write, and no others', t => {
  for (const one of every) t.is(isFillable({...one, annotation: null} as unknown as Field), isFillableHere(one), JSON.stringify(one))
})

test('tags are writable; unknown types, other lists and links to several modules are read-only', t => {
  const fillable = (more: object) => isFillableHere(field('F', more))
  t.true(fillable({type: 'text', jsonType: 'string'}))
  t.true(fillable({type: 'multiselectpicklist', jsonType: 'jsonarray'}))
  t.true(fillable({type: 'lookup', jsonType: 'jsonobject', lookup: {module: 'Accounts'}}))
  t.true(isFillableHere(field('Tag', {type: 'text', jsonType: 'jsonarray'})), 'Tag')
  t.false(fillable({type: 'text', jsonType: 'jsonarray'}), 'a list that is no tag')
  t.false(fillable({type: 'lookup', jsonType: 'jsonobject', lookup: {module: 'se_module'}}), 'What_Id')
  for (const type of ['RRULE', 'multireminder', 'consent_lookup', 'not_a_type']) t.false(fillable({type}), type)
})

test('choices are display values, with unused ones last, and a stored actual value selects its option', t => {
  const picklist = [
    {display: 'Old', actual: 'Old', unused: true as const},
    {display: 'Fresh', actual: 'New'},
  ]
  t.deepEqual(
    choicesOf({picklist}).map(({value}) => value),
    ['Fresh', 'Old'],
  )
  t.is(chosenOf({picklist}, 'New'), 'Fresh')
  t.is(chosenOf({picklist}, 'Fresh'), 'Fresh')
  t.is(chosenOf({picklist}, 'Neither'), 'Neither')
})

test('a mandatory subform is missing until a flow of the same records fills it', t => {
  const flow: Flow = {id: 'leads', sourceId: 's', module: 'Leads', fields: []}
  const known = [
    field('Lines', {type: 'subform', required: true, subform: {module: 'Lines'}}),
    field('Notes', {type: 'subform', subform: {module: 'Notes'}}),
  ] as unknown as Field[]
  const names = (...flows: Flow[]) => findMissingSubforms(flow, [flow, ...flows], known).map(({apiName}) => apiName)
  const lines = (parentFlow: string): Flow => ({...flow, id: 'lines', subform: {field: 'Lines', child: 'Lines', parentFlow}})
  t.deepEqual(names(), ['Lines'])
  t.deepEqual(names(lines('others')), ['Lines'])
  t.deepEqual(names(lines(flow.id)), [])
})
