import {keepResealed, listSealedElse} from '../../sql/webhooks.ts'
import {resealEach} from '../security/reseal.ts'
import {isOutdated} from '../security/secrets.ts'
import {openSecret, sealSecret} from './signature.ts'

/** Reseals the secrets of webhook endpoints, also previous ones, that are not sealed with the current master key. */
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
