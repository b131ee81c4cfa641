/**
 * Signs the person in again in a pop-up window and keeps the page as it is. The imports are dynamic to avoid an import cycle: the session
 * module shows notices, and notices import this file.
 */
export const signInAgain = async (): Promise<void> => {
  const [{askForSession}, {openSession}, {usualDataCentre}] = await Promise.all([
    import('./pop-up.ts'),
    import('./session.ts'),
    import('../sign-in.ts'),
  ])
  await askForSession(usualDataCentre(), {connects: false})
  await openSession()
}
