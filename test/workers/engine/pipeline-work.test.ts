import test from 'ava'
import {emptyPipeline, type RowPipeline} from '../../../workers/engine/pipeline-state.ts'
import {isFull, trackBatch} from '../../../workers/engine/pipeline-work.ts'
import {openRowWindow} from '../../../workers/engine/read/window.ts'

const pipelineOf = (slots: number) =>
  ({
    ...emptyPipeline(),
    ctx: {config: {CRM_SLOTS: slots}},
    window: openRowWindow(0),
    unanswered: {count: () => 0, size: () => 0},
  }) as unknown as RowPipeline

test('a pass reads no further row while three batches for each slot are open, until one of them is settled', async t => {
  const pipeline = pipelineOf(2)
  const settled = Array.from({length: 6}, () => Promise.withResolvers<void>())
  const sent = settled.slice(0, 5).map(({promise}) => trackBatch(pipeline, () => promise))
  t.false(isFull(pipeline))
  sent.push(trackBatch(pipeline, () => settled[5]!.promise))
  t.true(isFull(pipeline))
  settled[3]!.resolve()
  await sent[3]
  t.false(isFull(pipeline))
  for (const {resolve} of settled) resolve()
  await Promise.all(sent)
})

test('a batch that fails is no longer open', async t => {
  const pipeline = pipelineOf(1)
  const failing = [1, 2, 3].map(() => trackBatch(pipeline, () => Promise.reject(new Error('The lease is lost'))))
  t.true(isFull(pipeline))
  await Promise.allSettled(failing)
  t.false(isFull(pipeline))
})
