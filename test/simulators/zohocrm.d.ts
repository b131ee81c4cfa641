/** The vendor's SDK has no types. */
declare module '@zohocrm/nodejs-sdk-8.0'
