import {keepResealed, listSealedElse} from '../../../sql/written-records.ts'
import {resealEach} from '../../security/reseal.ts'
import {open, seal} from '../../security/secrets.ts'

/** Returns the context to which the sealed key of a module's marks is bound. */
export const keySealingOf = ({connector, module}: {connector: string; module: string}) => `marks ${connector} ${module}`

export const resealMarkKeys = resealEach({
  what: 'written module',
  list: listSealedElse,
  idOf: ({id}) => id,
  reseal: ({db, ring}, {id: _, keySealed, ...at}) =>
    keepResealed(db, {...at, before: keySealed, after: seal(ring, open(ring, keySealed, keySealingOf(at)), keySealingOf(at))}),
})
