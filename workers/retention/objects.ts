import {atPoint} from '../../shared/fault-point.ts'
import {StorageMissing, type StorageObject} from '../../shared/storage/storage.ts'
import {readClock} from '../../sql/clock.ts'
import {isMigratedFurther} from '../../sql/migrate.ts'
import {listNameless, listPendingDeletes} from '../../sql/purge.ts'
import {deleteLoose} from '../../sql/segments.ts'
import type {RetentionDeps} from './tally.ts'

const keysPerLook = 200
/** The number of failures after which the storage itself, not a single object, is treated as unavailable. */
const mostFailures = 5
const dayMs = 24 * 60 * 60 * 1000
/**
 * The age in days below which an object is left alone, longer than any upload takes. An S3 store dates an object by the beginning of its
 * upload, which may take a day.
 */
const youngDays = 3
/**
 * The maximum number of orphans that one night removes. Few uploads fail between storage and database. If there are more orphans, storage
 * and database may belong to different deployments, so none is removed.
 */
const mostOrphans = 1_000
/**
 * Matches the keys of files of sources, upload parts, files of test fetches, segments, plans, bulk files, before images, values read back and
 * exports. No other object counts as an orphan.
 */
export const ours =
  /^org_\w+\/(test-fetches\/sch_\w+|imp_\w+\/(src_\w+|upl_\w+-\d+-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12})|runs\/run_\w+\/(plan|steps|bulk|image|verify|\d+-\d+)-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.ndjson\.gz(\.sealed)?|runs\/run_\w+\/match-[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}\.zip\.sealed)$/

/** Removes objects that are pending delete. An object that cannot be removed stays listed and is retried. Stops after five failures. */
export const removePendingDeletes = async (retaining: RetentionDeps) => {
  const {db, drain, tally} = retaining
  const failures = {count: 0}
  for (let after = ''; ; ) {
    const keys = await listPendingDeletes(db, {after, limit: keysPerLook})
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

/** Removes one object and returns its bytes. Returns null if the storage fails. After five failures, returns null without trying. */
const removeOne = async ({storage, tally}: RetentionDeps, key: string, failures: {count: number}): Promise<number | null> => {
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
 * Lists all stored objects, then removes orphans. An upload leaves an orphan if it fails after the object is stored and before its row is
 * committed. Skips young objects, which may still get a row, and reports and keeps objects of an unknown org. Does nothing if a newer build
 * has migrated the database, because this build does not know the newer rows. If there are more than `mostOrphans`, throws and removes
 * none.
 */
export const removeOrphans = async (retaining: RetentionDeps) => {
  const {db, storage, drain} = retaining
  if (await isMigratedFurther(db)) return
  // Uses the earlier of the two clocks, so that no object seems older than it is.
  const before = Math.min(Date.parse(await readClock(db)), Date.now()) - youngDays * dayMs
  const orphans: StorageObject[] = []
  let found: StorageObject[] = []
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
  `More than ${mostOrphans} stored objects of orgs of this database have no row in it. The database may be an older copy, or share
the storage with another. None was removed. Compare both, and remove unneeded objects by hand`.replaceAll('\n', ' ')

const judge = async ({db, log, tally}: RetentionDeps, found: StorageObject[], before: number): Promise<StorageObject[]> => {
  const old = found.filter(({key, modifiedAt}) => ours.test(key) && modifiedAt.getTime() < before)
  const nameless = await listNameless(
    db,
    old.map(({key}) => key),
  )
  const foreign = nameless.filter(({known}) => !known)
  await tally.add({objectsSeen: found.length, foreignObjects: foreign.length})
  if (foreign.length) log.warn({objects: foreign.length}, 'storage holds objects of orgs that this database does not know; they are kept')
  const orphans = new Set(nameless.filter(({known}) => known).map(({key}) => key))
  return old.filter(({key}) => orphans.has(key))
}

/** Removes an orphan. Looks up its row again first, because the listing may have taken hours. */
const removeOrphan = async ({db, storage, drain, log, tally}: RetentionDeps, {key, bytes}: StorageObject) => {
  drain.throwIfAborted()
  if ((await listNameless(db, [key])).length === 0) return
  await storage.remove(key)
  log.warn({key, bytes}, 'removed an object that no row names')
  await tally.add({orphans: 1, orphanBytes: bytes})
}

const orgOf = (key: string) => key.split('/')[0] ?? null
