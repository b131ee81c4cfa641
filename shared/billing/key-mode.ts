/** Whether a key of the payment provider moves real money: `sk_live_…`, or restricted `rk_live_…`. */
export const isLiveKey = (key: string | undefined): boolean => /^[a-z]+_live_/.test(key ?? '')
