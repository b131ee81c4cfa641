import {declined, done, type Expected, type Item, type Row, silent} from '../journeys/fault-table.ts'

/**
 * Returns a case in which the CRM answers 200 with JSON of an undocumented shape to a request for two records. `does`: whether the CRM executes
 * the request; default true.
 */
const odd = (fault: string, body: unknown, more: Omit<Row, 'fault' | 'faults' | 'fresh'>): Row => ({
  fault,
  faults: [{action: {type: 'answer', status: 200, body, when: more.does === false ? 'before' : 'after'}}],
  does: true,
  ...more,
})
const nothing = (fault: string, body: unknown): Row => odd(fault, body, {write: {relayed: silent(200, {part: 'body'})}})
const each = (item: Item): Expected => ({items: [item, item]})
const unplaced = each({said: silent(200, {part: 'body'})})
const unmeant = each({said: silent(200, {part: 'item'})})
const unnamed = each({said: silent(200, {code: 'SUCCESS', part: 'item'})})

const success = (details: unknown, more: object = {}) => ({code: 'SUCCESS', details, message: 'record added', status: 'success', ...more})
const refusal = (code: unknown, details: object = {}) => ({code, details, message: 'said the CRM', status: 'error'})
const twice = (entry: unknown) => ({data: [entry, entry]})
const at = (place: number) => refusal('INVALID_DATA', {api_name: 'X', json_path: `$.data[${place}].X`})

/** Bodies without a list of answers, lists of something else, and entries that do not fit the records sent. */
export const oddAnswers: Row[] = [
  nothing('null', null),
  nothing('a list', []),
  nothing('a text', 'ok'),
  nothing('a number', 42),
  nothing('true', true),
  nothing('an empty object', {}),
  nothing('data that is null', {data: null}),
  nothing('data that is an object', {data: {0: success({id: '1'})}}),
  nothing('data that is a text', {data: 'SUCCESS'}),
  nothing('answers under another name', {records: [success({id: '1'}), success({id: '2'})]}),
  odd('no entries', {data: []}, {write: unplaced}),
  odd('entries that are null', twice(null), {write: unplaced}),
  odd('entries that are numbers', twice(1), {write: unplaced}),
  odd('entries that are texts', twice('SUCCESS'), {write: unplaced}),
  odd('empty entries', twice({}), {write: unmeant}),
  odd('entries of neither success nor error', twice({status: 'pending', message: 'in a moment'}), {write: unmeant}),
  odd('more entries than records', {data: [success({id: '1'}), success({id: '2'}), success({id: '3'})]}, {write: unplaced}),
  odd(
    'one success, and null',
    {data: [success({id: '4400001000000000001'}), null]},
    {
      create: {items: ['done', {said: silent(200, {part: 'body'})}]},
    },
  ),
  odd('success without details', twice({code: 'SUCCESS', status: 'success'}), {create: unnamed, update: done}),
  odd('success under a number', twice(success({id: 4_400_001})), {create: unnamed, update: done}),
  odd('success under an empty id', twice(success({id: ''})), {create: unnamed, update: done}),
  odd('success under an id with a blank', twice(success({id: '44 00'})), {create: unnamed, update: done}),
  odd('success under an id of 101 characters', twice(success({id: '4'.repeat(101)})), {create: unnamed, update: done}),
  odd('success of records nobody sent', twice(success({id: '999'})), {update: unplaced}),
  odd('refusals that name each other’s place', {data: [at(1), at(0)]}, {write: unplaced}),
  odd('a refusal that names a place beyond', {data: [at(7), at(1)]}, {write: unplaced}),
  odd('refusals without a code', twice({status: 'error', details: {}}), {
    write: each({said: declined(null, 200, {part: 'item'})}),
    does: false,
  }),
  odd('refusals whose code is empty', twice(refusal('')), {write: each({said: declined(null, 200, {part: 'item'})}), does: false}),
  odd(
    'a refusal beside a success that was not',
    {data: [refusal('INVALID_DATA'), {}]},
    {write: {items: [{said: declined('INVALID_DATA', 200, {part: 'item'})}, {said: silent(200, {part: 'item'})}]}, does: false},
  ),
]
