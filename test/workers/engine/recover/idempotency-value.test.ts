import test from 'ava'
import {deriveValue} from '../../../../shared/runs/idempotency-values.ts'
import {type CompiledFlow, type ImportRow, STEP_CODES} from '../../../../workers/engine/model.ts'
import {addIdempotencyValue} from '../../../../workers/engine/recover/idempotency-value.ts'
import {payloadOf} from '../../../../workers/engine/send/nested-rows.ts'
import {sentDigestOf, uniqueKeyDigestOf} from '../../../../workers/engine/send/payload-digest.ts'
import {compiledFlow, field, row} from '../fixtures.ts'

const code = field('Code', {unique: true})
const plain = compiledFlow([field('Name'), code])
const flow: CompiledFlow = {...plain, module: {...plain.module, idempotencyField: 'Key'}}
const ctx = {idempotencyValueOf: (module: string, key: string) => `${module} ${key}`}
const value = 'Things f.1'
const question = {run: 1, number: 1, kind: STEP_CODES.create, target: null, attempt: 1, ended: true, creates: 1}
const added = (one: ImportRow, asked?: Parameters<typeof addIdempotencyValue>[3], of = flow) => {
  addIdempotencyValue(ctx, of, one, asked)
  return one
}

test('the create sends the value; the payload, which updates send and comparisons read, does not have it', t => {
  const one = added(row(1))
  t.true(one.hasUniqueKey)
  t.deepEqual(payloadOf(one), {Name: 'Row 1', Key: value})
  t.deepEqual(one.payload, {Name: 'Row 1'})
  t.deepEqual(one.lockKeys, [])
})

test('a module without the field leaves its rows as they are', t => {
  t.deepEqual(added(row(1), undefined, plain), row(1))
})

test('a row keeps the way in which its unanswered create was sent', t => {
  const payload = {Name: 'A', Code: '1'}
  const unkeyed = added(row(1, {payload}), {...question, hasUniqueKey: false, digest: Buffer.alloc(16)})
  t.is(unkeyed.idempotency, undefined, 'sent without any unique value')
  const before = row(1, {payload, hasUniqueKey: true})
  const keyed = added(row(1, {payload, hasUniqueKey: true}), {...question, hasUniqueKey: true, digest: sentDigestOf(flow, before)})
  t.is(keyed.idempotency, undefined, 'sent with another unique value only')
  const own = sentDigestOf(flow, added(row(1, {payload, hasUniqueKey: true})))
  const again = added(row(1, {payload, hasUniqueKey: true}), {...question, hasUniqueKey: true, digest: own})
  t.is(again.idempotency?.value, value)
  t.deepEqual(uniqueKeyDigestOf(flow, again), own)
})

test('a row whose update was never answered sends the value with a later create', t => {
  const update = {...question, kind: STEP_CODES.again, target: '7', hasUniqueKey: false, digest: null}
  t.is(added(row(1), {...update, creates: 0}).idempotency?.value, value)
  t.is(added(row(1), update).idempotency, undefined, 'an earlier create was sent without the value')
})

test('values differ by key, chain, module and row, and are 26 characters', t => {
  const place = {chain: 'run_1', module: 'Leads', rowKey: 'f.1'}
  const key = Buffer.alloc(32, 1)
  const values = [
    deriveValue(key, place),
    deriveValue(Buffer.alloc(32, 2), place),
    ...[{chain: 'run_2'}, {module: 'Deals'}, {rowKey: 'f.2'}].map(other => deriveValue(key, {...place, ...other})),
  ]
  t.is(new Set(values).size, 5)
  t.true(values.every(one => /^[0-9a-hjkmnp-tv-z]{26}$/.test(one)))
  t.is(deriveValue(key, place), values[0]!)
})
