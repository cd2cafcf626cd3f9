"""Study data: TCP over direct communication in LTE-Advanced."""
