import type {CrmRecord} from '../../../shared/crm/crm.ts'
import type {BeforeImage, FieldValues} from '../../../shared/runs/undo/before-image.ts'
import {makeImageSeal} from '../../../shared/runs/undo/image-key.ts'
import {IMAGE_LIST} from '../../../sql/segments.ts'
import type {Context, LedgerContext} from '../context.ts'
import {readFormOf} from '../match/compare-values.ts'
import {readWholeUnlessRefused} from '../match/read-by-id.ts'
import {mayBeStale} from '../match/unchanged-records.ts'
import type {CompiledFlow} from '../model.ts'
import {openSegmentWriter, type SegmentWriter} from '../segment-writer.ts'
import type {Op} from '../settle/verdict.ts'

export type ImageStore = SegmentWriter<BeforeImage>
type ImageContext = Pick<LedgerContext, 'config' | 'db' | 'storage' | 'run' | 'log'>

/** Opens the store of before images. Null: the run stores none, because it is a dry run or cannot be undone (`undoDays` is null). */
export const openImageStore = async (ctx: ImageContext): Promise<ImageStore | null> => {
  const {config, db, run} = ctx
  if (run.dryRun || run.undoDays === null) return null
  const {seal} = await makeImageSeal({db, ring: config.SECRETS_KEYS}, run)
  return openSegmentWriter(ctx, {
    list: IMAGE_LIST,
    what: 'before images',
    gatherMs: 50,
    seal,
    nameObject: id => `image-${id}.ndjson.gz.sealed`,
  })
}

type Update = Op & {target: string}

/**
 * Stores the values that these updates replace. Call it before their intents. Skips updates that are sent again, because they have their image
 * already. Only a patch that an earlier owner sent gets a second image, because that owner may have voided the first. Reads values by id if the match
 * did not read them, or if they may be old. If the CRM refuses the read, the rows are still written, with a remark that an undo leaves their records
 * as they are.
 */
export const keepImages = async (ctx: Context, flow: CompiledFlow, ops: Op[]): Promise<void> => {
  const {images} = ctx
  const updates = ops.filter((op): op is Update => op.target !== null && (op.row.unansweredSends === 0 || isPatchOfEarlierOwner(flow, op)))
  if (!images || flow.tags || updates.length === 0) return
  const {records, isRefused} = await findRecords(ctx, flow, updates)
  const written = await flow.marks?.list(updates.map(({target}) => target))
  await images.keep(
    updates.flatMap((update): BeforeImage[] => {
      const {row, target} = update
      const record = records.get(target)
      const isResumed = row.unansweredSends > 0
      const sent = {...imageKeyOf(flow, update), sent: row.payload, ...(isResumed && {attempt: row.attempt + 1})}
      if (!record) {
        // If the CRM answered the read without this record, the record is gone. The CRM will refuse its update, so no image is needed.
        if (isRefused) row.remarks = [...new Set([...(row.remarks ?? []), isResumed ? mayNotBeKept : notKept])]
        return isRefused && !isResumed ? [{...sent, before: {}, isUnread: true}] : []
      }
      const marks = written?.get(target)?.packed.toString('base64')
      return [{...sent, before: pick(record, Object.keys(row.payload)), ...(marks !== undefined && {marks})}]
    }),
  )
}

/** For a patch with unanswered sends: whether earlier owners of the run made all of them. */
const isPatchOfEarlierOwner = ({patchPlan}: CompiledFlow, {row}: Op) => Boolean(patchPlan) && row.unansweredSince === undefined

const imageKeyOf = (flow: CompiledFlow, {row, target}: Update) => ({
  row: row.number,
  key: row.key,
  flow: flow.no,
  module: flow.module.no,
  recordId: target,
  phase: flow.patchPlan ? ('patch' as const) : ('write' as const),
})

/**
 * Voids the images of patches that the CRM refused at the first send, or that the run did not send. Call it before the settlement, so that a crash
 * leaves no such image. Other refused writes need no void, because the undo finds them in the rows of the chain. Patches are not among those rows.
 */
export const voidPatchImages = async ({images, log}: Pick<Context, 'images' | 'log'>, flow: CompiledFlow, ops: Op[]): Promise<void> => {
  const patches = ops.filter((op): op is Update => op.target !== null && op.row.unansweredSends === 0)
  if (!images || !flow.patchPlan || patches.length === 0) return
  const voids = patches.map((op): BeforeImage => ({...imageKeyOf(flow, op), before: {}, sent: {}, isVoid: true}))
  await images.keep(voids).catch((err: unknown) => log.warn({err}, 'could not void the before images of refused or unsent patches'))
}

const notKept = 'The CRM did not show the earlier values, so an undo leaves this record as it is'
/** The image of the first send may be void. */
const mayNotBeKept = 'The CRM did not show the values before the second send, so an undo may leave this record as it is'

/** Returns the values of these fields, without fields that the CRM does not show. */
const pick = (record: CrmRecord, names: string[]): FieldValues =>
  Object.fromEntries(names.flatMap(name => (record[name] === undefined ? [] : [[name, record[name]]])))

/** `isRefused`: the CRM refused to show the values of the records that are missing in `records`. */
type FoundRecords = {records: Map<string, CrmRecord>; isRefused: boolean}

const findRecords = async (ctx: Context, flow: CompiledFlow, updates: Update[]): Promise<FoundRecords> => {
  const isStale = updates.some(({row}) => row.known && !row.isKnownById) && (await mayBeStale(ctx, flow))
  const known = new Map<string, CrmRecord>()
  const unread: Update[] = []
  for (const update of updates) {
    const {row, target} = update
    const record = isStale && !row.isKnownById ? undefined : row.known?.find(({id}) => id === target)
    if (record && Object.keys(row.payload).every(name => isShown(flow, record, name))) known.set(target, record)
    else unread.push(update)
  }
  if (unread.length === 0) return {records: known, isRefused: false}
  const fields = [...new Set(unread.flatMap(({row}) => Object.keys(row.payload)))]
  const read = await readWholeUnlessRefused(ctx, flow, {ids: [...new Set(unread.map(({target}) => target))], fields})
  if (!read)
    ctx.log.warn({module: flow.module.apiName, records: unread.length}, 'the CRM refuses to show values that an undo would restore')
  return {records: new Map([...known, ...(read ?? [])]), isRefused: read === null}
}

/** Whether the record, as it was read, has the whole value of the field. */
const isShown = ({module}: CompiledFlow, record: CrmRecord, name: string) => {
  const field = module.fields.find(({apiName}) => apiName === name)
  return field !== undefined && name in record && readFormOf(field, record[name]) !== undefined
}
