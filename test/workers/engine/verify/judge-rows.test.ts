import test from 'ava'
import {describeVerify} from '../../../../shared/runs/describe-verify.ts'
import type {Run} from '../../../../sql/runs.ts'
import type {CompiledFlow} from '../../../../workers/engine/model.ts'
import {classifyValue} from '../../../../workers/engine/verify/classify-value.ts'
import {judgeRows} from '../../../../workers/engine/verify/judge-rows.ts'
import {makeWrittenPacker, unpackWritten, type WrittenRow} from '../../../../workers/engine/verify/written-rows.ts'
import {compiledFlow, field} from '../fixtures.ts'

const flow = compiledFlow([field('City'), field('Name')], {
  marks: {pack: (_, values) => Buffer.from(JSON.stringify(values))} as CompiledFlow['marks'] & object,
})
const written = (more: Partial<WrittenRow>): WrittenRow => ({
  row: 1,
  key: 'f.1',
  flow: 1,
  module: 1,
  recordId: '7',
  phase: 'write',
  sent: {Name: 'Sent'},
  writtenAt: '2026-01-02T08:00:00Z',
  isSure: true,
  ...more,
})
const patch = written({phase: 'patch', sent: {City: 'Sent'}, isSecond: true})
const record = (values: object) =>
  new Map([['7', {id: '7', Modified_By: {id: 'lading'}, Modified_Time: '2026-01-02T08:00:00Z', ...values}]])

test('a row that was written and patched counts once', t => {
  const read = (values: object | null) =>
    judgeRows(() => flow, 'lading', [{rows: [written({}), patch], records: values && record(values)}]).rows
  t.like(read({City: 'Sent', Name: 'Sent'}), {rows: 1, missing: 0, unread: 0})
  t.like(read(null), {rows: 1, missing: 0, unread: 1})
})

test('the guard counts a differing patch and its row as two, and the reported counts separate patches from rows', t => {
  const {rows} = judgeRows(() => flow, 'lading', [{rows: [written({}), patch], records: record({City: 'Read', Name: 'Read'})}])
  t.like(rows, {rows: 1, coerced: 2, second: 1, secondCoerced: 1, secondChanged: 0})
  const describe = (...verified: number[]) => describeVerify({verify: 'all', verified, toVerify: 0, state: 'ended'} as unknown as Run)
  t.like(describe(5, 2, 0, 0, 0, 0, 5, 1, 0), {rows: 5, coerced: 1, changed: 0, patchesCoerced: 1, patchesChanged: 0})
  t.like(describe(5, 3, 4, 0, 0, 0, 5, 1, 2), {rows: 5, coerced: 2, changed: 2, patchesCoerced: 1, patchesChanged: 2})
  t.like(describe(5, 7, 6, 0, 0), {rows: 5, coerced: 5, changed: 5, patchesCoerced: 0, patchesChanged: 0}, 'verified by an earlier build')
})

test('a patch and a write that got no answer do not count among the rows that wait to be read back', t => {
  const pack = makeWrittenPacker({verify: 'all', retryOf: null}, {seal: packed => packed, unseal: stored => stored})
  const rows = [written({}), patch, written({key: 'f.2', row: 2, isSure: false})].map(row => ({...row, isCanary: false}))
  t.like(pack(rows), {rows: 3, countedRows: 1})
})

test('a sample of a retry has at least a hundred written rows of each flow, with their patches', t => {
  const chosen = (retryOf: string | null) => {
    const pack = makeWrittenPacker({verify: 'sample', retryOf}, {seal: packed => packed, unseal: stored => stored})
    const numbers = Array.from({length: 400}, (_, n) => 1_001 + n)
    const rows = numbers.map(row => ({...written({row, key: `f.${row}`}), isCanary: false}))
    const keysOf = (queued: ReturnType<typeof pack>) =>
      unpackWritten(queued!.sealed, {seal: packed => packed, unseal: stored => stored}).map(({key}) => key)
    const patches = rows.map(row => ({...row, phase: 'patch' as const, isSecond: true as const}))
    return {rows: keysOf(pack(rows)), patches: keysOf(pack(patches))}
  }
  const [first, retry] = [chosen(null), chosen('run_1')]
  t.true(first.rows.length < 40)
  t.true(retry.rows.length >= 100 && retry.rows.length < 130, `${retry.rows.length}`)
  t.deepEqual(retry.patches, retry.rows)
  t.true(first.rows.every(key => retry.rows.includes(key)))
})

test('the marks of a record have the differing values of all its rows and phases', t => {
  const rows = [written({}), patch, written({key: 'f.2', row: 2, sent: {}})]
  const {marks} = judgeRows(() => flow, 'lading', [{rows, records: record({City: 'Read city', Name: 'Read name'})}])
  t.deepEqual(
    marks.map(({recordId, marks}) => [recordId, JSON.parse(marks.toString())]),
    [['7', {Name: 'Read name', City: 'Read city'}]],
  )
})

test('a text that the CRM returns with markup was converted, even if the record was changed after the write', t => {
  const touched = {isByOther: false, isTouched: true}
  const classify = (read: string) => classifyValue(field('Story', {type: 'textarea'}), {sent: 'Hello', read}, touched)
  t.deepEqual(['<p>Hello</p>', '<p>Bye</p>'].map(classify), ['coerced', 'changed'])
})
