/** The code and message of a row whose record an earlier request created. */
export const madeEarlier = {code: 'MADE_EARLIER', message: 'Created by an earlier request that the CRM did not answer'}
