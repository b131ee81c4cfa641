import {keepResealed, listSealedElse} from '../../sql/webhooks.ts'
import {resealEach} from '../security/reseal.ts'
import {isOutdated} from '../security/secrets.ts'
import {openSecret, sealSecret} from './signature.ts'

/** Reseals the secret of every webhook endpoint, and the previous secret if one is stored. */
export const resealWebhooks = resealEach({
  what: 'endpoint',
  list: listSealedElse,
  idOf: ({id}) => id,
  reseal({db, ring}, before) {
    const {id} = before
    const again = (sealed: string) => (isOutdated(ring, sealed) ? sealSecret(ring, id, openSecret(ring, id, sealed)) : sealed)
    return keepResealed(db, {id, before, after: {secret: again(before.secret), old: before.old && again(before.old)}})
  },
})
