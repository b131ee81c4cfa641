import test from 'ava'
import fc from 'fast-check'
import {settle} from '../../../../sql/ledger.ts'
import {openUnsettledRows} from '../../../../workers/engine/match/unsettled-rows.ts'
import {STEP_CODES} from '../../../../workers/engine/model.ts'
import {beginRun, openLedger, settlement} from '../../../support/running.ts'
import {compiledFlow} from '../fixtures.ts'

let here: Awaited<ReturnType<typeof openLedger>>
test.before(async () => {
  here = await openLedger('unsettled')
})
test.after.always(() => here?.close())

const flowOf = (no: number, module = no) => compiledFlow([], {no, module: {...compiledFlow([]).module, no: module}})

type AskInput = {number: number; kind?: number; hasUniqueKey?: boolean; flow?: number; digest?: Buffer; ended?: boolean}

/** Begins a run with an open question about each of these rows. */
const ask = async (rows: AskInput[]) => {
  const begun = await beginRun(here)
  const opened = rows.map(({number, kind = STEP_CODES.update, hasUniqueKey = true, flow = 1, ...more}) => ({
    module: flow,
    key: `f.${number}`,
    flow,
    number,
    kind,
    target: `r${number}`,
    hasUniqueKey,
    attempt: 2,
    ...more,
  }))
  await settle(here.hot, settlement(begun, 1, {opened}))
  return {db: here.db, run: {no: begun.run}, chain: begun.run, retried: null} as unknown as Parameters<typeof openUnsettledRows>[0]
}

test('the unsettled entries of the rows are read chunk by chunk and page by page, each once', async t => {
  const course = fc.record({
    rows: fc.uniqueArray(fc.integer({min: 1, max: 40}), {maxLength: 25}),
    steps: fc.array(fc.integer({min: 0, max: 9}), {minLength: 1, maxLength: 12}),
    perPage: fc.integer({min: 1, max: 7}),
  })
  await fc.assert(
    fc.asyncProperty(course, async ({rows, steps, perPage}) => {
      const unsettled = openUnsettledRows(await ask(rows.map(number => ({number}))), flowOf(1), perPage)
      let read = 0
      for (const step of steps) {
        const found = [...(await unsettled.upTo(read + step)).keys()]
        t.deepEqual(
          found,
          rows.filter(number => number > read && number <= read + step).toSorted((a, b) => a - b),
        )
        read += step
      }
    }),
    {numRuns: 40},
  )
})

test('unsettled skip settled rows and creates whose payload is unknown, and each flow has separate unsettled', async t => {
  const ctx = await ask([
    {number: 1, kind: STEP_CODES.create, hasUniqueKey: false},
    {number: 2, kind: STEP_CODES.create, hasUniqueKey: true},
    {number: 3, kind: STEP_CODES.again, hasUniqueKey: false},
    {number: 4, flow: 2},
    {number: 5, kind: STEP_CODES.create, hasUniqueKey: false, digest: Buffer.from('sent')},
    {number: 6, kind: STEP_CODES.create, hasUniqueKey: false, digest: Buffer.from('sent'), ended: true},
  ])
  t.deepEqual([...(await openUnsettledRows(ctx, flowOf(1)).upTo(10)).keys()], [2, 3, 5])
  t.deepEqual([...(await openUnsettledRows({...ctx, run: {...ctx.run, no: 0}}, flowOf(1)).upTo(10)).keys()], [1, 2, 3, 5, 6], 'another run')
  t.is((await openUnsettledRows(ctx, flowOf(1, 2)).upTo(10)).size, 0, 'the flow has another module now')
  t.deepEqual(
    [...(await openUnsettledRows(ctx, flowOf(2)).upTo(10)).values()],
    [
      {
        run: ctx.run.no,
        number: 4,
        kind: STEP_CODES.update,
        target: 'r4',
        hasUniqueKey: true,
        digest: null,
        attempt: 2,
        ended: false,
        creates: 0,
      },
    ],
  )
})
