import {StorageMissing, type StoredObject} from '../../shared/storage.ts'
import {listDoomed, listNameless, readNow} from '../../sql/emptying.ts'
import {deleteLoose} from '../../sql/segments.ts'
import {atPoint} from '../engine/fault-point.ts'
import type {Retaining} from './tally.ts'

const keysPerLook = 200
/** Then the storage is away, not a single object. */
const mostFailures = 5
const dayMs = 24 * 60 * 60 * 1000
/** The keys this service makes: a source's file, a segment of a run's records, a plan. Nothing else is touched. */
const ours = /^org_\w+\/(imp_\w+\/src_\w+|runs\/run_\w+\/[\w.-]+)$/

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
 * Goes through everything that is stored and removes what no row names: files whose upload died between storage and database. Younger than
 * a day, it may be about to be named. What lies under an org that this database has never had is told and left.
 */
export const removeOrphans = async (retaining: Retaining) => {
  const before = Date.parse(await readNow(retaining.db)) - dayMs
  let found: StoredObject[] = []
  for await (const object of retaining.storage.list()) {
    retaining.drain.throwIfAborted()
    found.push(object)
    if (found.length < keysPerLook) continue
    await judge(retaining, found, before)
    found = []
  }
  await judge(retaining, found, before)
}

const judge = async (retaining: Retaining, found: StoredObject[], before: number) => {
  const {db, storage, log, tally} = retaining
  const old = found.filter(({key, modifiedAt}) => ours.test(key) && modifiedAt.getTime() < before)
  const nameless = await listNameless(
    db,
    old.map(({key}) => key),
  )
  const foreign = nameless.filter(({known}) => !known)
  await tally.add({objectsSeen: found.length, foreignObjects: foreign.length})
  if (foreign.length) log.warn({objects: foreign.length}, 'storage holds objects of orgs that this database does not know; they are left')
  for (const {key} of nameless.filter(({known}) => known)) {
    await storage.remove(key)
    const bytes = old.find(object => object.key === key)!.bytes
    log.warn({key, bytes}, 'an object that nothing names was removed')
    await tally.add({orphans: 1, orphanBytes: bytes})
  }
}

const orgOf = (key: string) => key.split('/')[0] ?? null
