import {keepResealed, listSealedElse} from '../../sql/endpoints.ts'
import {resealEach} from '../resealing.ts'
import {isOutdated} from '../secrets.ts'
import {openSecret, sealSecret} from './signature.ts'

/** Every webhook secret, and the one it replaces while that still signs. */
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
