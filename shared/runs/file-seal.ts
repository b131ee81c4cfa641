import {type FileKeys, openFileKeys} from '../../sql/file-keys.ts'
import {resealEach} from '../security/reseal.ts'
import {type KeyRing, open, seal} from '../security/secrets.ts'

/** A sealed key of a file in storage is bound to its run and to `use`. */
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

export const bulkFileSeals = openFileSeals(openFileKeys('bulk_jobs'), 'bulk rows')

export const exportFileSeals = openFileSeals(openFileKeys('match_exports'), 'match export')
