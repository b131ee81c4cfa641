/** The code and message of a row whose record was created by an earlier request that got no answer. */
export const madeEarlier = {code: 'MADE_EARLIER', message: 'Created by an earlier request that the CRM did not answer'}
