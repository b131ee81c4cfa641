import test from 'ava'
import {countAt} from '../../../../sql/run-log.ts'
import {type ImportRow, type RowFailure, STEP_CODES} from '../../../../workers/engine/model.ts'
import {isInheritedRow, resumeRow} from '../../../../workers/engine/recover/inherited-rows.ts'
import type {SettlementParts} from '../../../../workers/engine/settle/settler.ts'
import {failedRowOf, settleFailures} from '../../../../workers/engine/settle/unsent-rows.ts'
import {compiledFlow, field, row} from '../fixtures.ts'

const flow = compiledFlow([field('Name')])
const run = {no: 1}
const failure: RowFailure = {number: 1, key: 'f.1', code: 'EXPRESSION_TIMEOUT', message: 'It took too long', target: 'Name'}
const entry = {run: 1, number: 1, hasUniqueKey: false, digest: null, attempt: 1, ended: false, creates: 0}
const resume = (more: Partial<typeof entry> & {kind: number; target: string | null}, composed: ImportRow | RowFailure = failure) =>
  resumeRow({run} as Parameters<typeof resumeRow>[0], flow, composed, {...entry, ...more})

test('a refused row whose expression fails after a takeover moves from the refused rows to the failed ones', async t => {
  const resumed = resume({kind: STEP_CODES.again, target: null}) as RowFailure
  const settled: SettlementParts[] = []
  const ctx = {run, settler: {settle: async (parts: SettlementParts) => void settled.push(parts)}}
  await settleFailures({ctx, flow, window: {leave: () => {}}} as unknown as Parameters<typeof settleFailures>[0], [failedRowOf(resumed)])
  t.deepEqual(
    settled[0]!.counts,
    new Map([
      [countAt(1, 'refused'), -1],
      [countAt(1, 'failed'), 1],
    ]),
  )
  t.like(settled, [{log: [{attempt: 1, code: 'EXPRESSION_TIMEOUT'}], closed: [{module: 1, key: 'f.1'}]}])
})

test('an unanswered update whose expression fails after a takeover stays unanswered', t => {
  const resumed = resume({kind: STEP_CODES.update, target: '7'})
  t.true(isInheritedRow(resumed))
  t.like(resumed, {row: {counted: 'unanswered', attempt: 1}, outcome: 'unanswered', recordId: '7', code: 'EXPRESSION_TIMEOUT'})
})

test('if an unanswered update was later refused, a retry plans the row again and searches for no lost create', t => {
  const resumed = resume({run: 7, kind: STEP_CODES.again, target: '7', ended: true}, row(1))
  t.like(resumed, {decided: null, hasLostCreate: false, lostUpdate: '7', unansweredSends: 0, open: true})
  const made = resume({run: 7, kind: STEP_CODES.again, target: null, ended: true}, row(1))
  t.like(made, {decided: null, hasLostCreate: true, lostUpdate: null})
})

test('a retry knows a lost create of a row that a later run of the chain turned into an update', t => {
  const refused = resume({run: 7, kind: STEP_CODES.again, target: '7', ended: true, creates: 1}, row(1))
  t.like(refused, {hasLostCreate: true, lostUpdate: '7', unansweredCreates: 1})
  t.like(resume({run: 7, kind: STEP_CODES.update, target: '7', creates: 1}, row(1)), {lostUpdate: '7', unansweredCreates: 1})
})
