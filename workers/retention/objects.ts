import {atPoint} from '../../shared/fault-point.ts'
import {StorageMissing, type StoredObject} from '../../shared/storage.ts'
import {readClock} from '../../sql/clock.ts'
import {listDoomed, listNameless} from '../../sql/emptying.ts'
import {isMigratedFurther} from '../../sql/migrate.ts'
import {deleteLoose} from '../../sql/segments.ts'
import type {Retaining} from './tally.ts'

const keysPerLook = 200
/** Then the storage is away, not a single object. */
const mostFailures = 5
const dayMs = 24 * 60 * 60 * 1000
/** Longer than any upload takes: an S3 store dates an object by the beginning of its upload, which may go on for a day. */
const youngDays = 3
/** Uploads that died between storage and database are few. With more than that, the storage and the database are not of one deployment. */
const mostOrphans = 1_000
/** The keys this service makes, to the letter: a source's file, a part of one that is being sent, a segment of a run's records, a plan. Nothing else is touched. */
export const ours =
  /^org_\w+\/(imp_\w+\/(src_\w+|upl_\w+-\d+-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12})|runs\/run_\w+\/(plan|\d+-\d+)-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.ndjson\.gz)$/

/** Objects that nothing names any more. What cannot be removed stays written down, and is asked for again. */
export const removeDoomed = async (retaining: Retaining) => {
  const {db, drain, tally} = retaining
  const failures = {count: 0}
  for (let after = ''; ; ) {
    const keys = await listDoomed(db, {after, limit: keysPerLook})
    const removed: string[] = []
    for (const key of keys) {
      drain.throwIfAborted()
      const bytes = await removeOne(retaining, key, failures)
      if (bytes === null) continue
      removed.push(key)
      atPoint('in_retention')
      await tally.add({objects: 1, bytes})
    }
    await deleteLoose(db, removed)
    if (keys.length < keysPerLook || failures.count >= mostFailures) return
    after = keys.at(-1)!
  }
}

/** Its bytes, or null where the storage failed. */
const removeOne = async ({storage, tally}: Retaining, key: string, failures: {count: number}): Promise<number | null> => {
  if (failures.count >= mostFailures) return null
  try {
    const bytes = await storage.size(key).catch(zeroIfMissing)
    await storage.remove(key)
    return bytes
  } catch (error) {
    failures.count++
    await tally.fail('objects', orgOf(key), error)
    return null
  }
}

const zeroIfMissing = (error: unknown): number => {
  if (error instanceof StorageMissing) return 0
  throw error
}

/**
 * Goes through everything that is stored and removes what no row names: files whose upload died between storage and database. What is young
 * may be about to be named, and what a newer build keeps is named by what this one does not know. What lies under an org that this database
 * has never had is told and left. Nothing is removed before all has been seen.
 */
export const removeOrphans = async (retaining: Retaining) => {
  const {db, storage, drain} = retaining
  if (await isMigratedFurther(db)) return
  // By whichever clock is behind.
  const before = Math.min(Date.parse(await readClock(db)), Date.now()) - youngDays * dayMs
  const orphans: StoredObject[] = []
  let found: StoredObject[] = []
  const judgeFound = async () => {
    orphans.push(...(await judge(retaining, found, before)))
    if (orphans.length > mostOrphans) throw new Error(tooMany)
    found = []
  }
  for await (const object of storage.list()) {
    drain.throwIfAborted()
    found.push(object)
    if (found.length === keysPerLook) await judgeFound()
  }
  await judgeFound()
  for (const orphan of orphans) await removeOrphan(retaining, orphan)
}

const tooMany =
  `More than ${mostOrphans} stored objects of orgs of this database are named by none of its rows: it may be an older copy, or share the
storage with another. None was removed: compare the two, and remove by hand what nobody needs`.replaceAll('\n', ' ')

const judge = async ({db, log, tally}: Retaining, found: StoredObject[], before: number): Promise<StoredObject[]> => {
  const old = found.filter(({key, modifiedAt}) => ours.test(key) && modifiedAt.getTime() < before)
  const nameless = await listNameless(
    db,
    old.map(({key}) => key),
  )
  const foreign = nameless.filter(({known}) => !known)
  await tally.add({objectsSeen: found.length, foreignObjects: foreign.length})
  if (foreign.length) log.warn({objects: foreign.length}, 'storage holds objects of orgs that this database does not know; they are left')
  const orphans = new Set(nameless.filter(({known}) => known).map(({key}) => key))
  return old.filter(({key}) => orphans.has(key))
}

/** Going through all of it may have taken hours, so it is asked once more. */
const removeOrphan = async ({db, storage, drain, log, tally}: Retaining, {key, bytes}: StoredObject) => {
  drain.throwIfAborted()
  if ((await listNameless(db, [key])).length === 0) return
  await storage.remove(key)
  log.warn({key, bytes}, 'an object that nothing names was removed')
  await tally.add({orphans: 1, orphanBytes: bytes})
}

const orgOf = (key: string) => key.split('/')[0] ?? null
