import {type FileKeys, openFileKeys} from '../../sql/file-keys.ts'
import {resealEach} from '../security/reseal.ts'
import {type KeyRing, open, seal} from '../security/secrets.ts'

/**
 * Returns functions that seal, open and reseal the encryption keys of a run's files in storage. A sealed key is bound to its run and to
 * `use`.
 */
const openFileSeals = (keys: FileKeys, use: string) => {
  const sealedAs = (run: string) => `${run} ${use}`
  return {
    seal: (ring: KeyRing, run: string, fileKey: string): string => seal(ring, fileKey, sealedAs(run)),

    open: (ring: KeyRing, run: string, sealed: string): string => open(ring, sealed, sealedAs(run)),

    reseal: resealEach({
      what: 'file',
      list: keys.listSealedElse,
      idOf: ({key}) => key,
      reseal: ({db, ring}, {key, run, sealed}) =>
        keys.keepResealed(db, {key, before: sealed, after: seal(ring, open(ring, sealed, sealedAs(run)), sealedAs(run))}),
    }),
  }
}

/** Seals the keys of the files that bulk jobs read. */
export const bulkFileSeals = openFileSeals(openFileKeys('bulk_jobs'), 'bulk rows')

/** Seals the keys of the files of module exports. */
export const exportFileSeals = openFileSeals(openFileKeys('match_exports'), 'match export')
